"""The catalog provider of the PyPI package gpuhunt, as dstack uses it: no key, dozens of queries at once.

    python test/clients/gpuhunt_catalog.py --base-url http://127.0.0.1:8787

Prints the offers as JSON. The address is a constant of the package, so it is set from outside.
"""

import argparse
import json

from gpuhunt.providers import runpod

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
args = flags.parse_args()

runpod.API_URL = f"{args.base_url}/graphql"
offers = runpod.RunpodProvider().get()
print(
    json.dumps(
        [
            {
                "instance": offer.instance_name,
                "location": offer.location,
                "price": offer.price,
                "gpu": offer.gpu_name,
                "count": offer.gpu_count,
                "memory": offer.memory,
                "cpu": offer.cpu,
            }
            for offer in offers
        ]
    )
)
