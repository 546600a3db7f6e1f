"""The PyPI package runpod, unmodified: runs jobs and prints what their streams give, as one JSON object.

    python test/clients/stream_client.py --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID --input JSON
"""

import argparse
import asyncio
import json
import os

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
flags.add_argument("--api-key", required=True)
flags.add_argument("--endpoint", required=True)
flags.add_argument("--input", required=True)
args = flags.parse_args()

# The package reads its address once, when it is imported.
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = args.base_url

import runpod  # noqa: E402
from runpod.http_client import ClientSession  # noqa: E402

runpod.api_key = args.api_key
job_input = json.loads(args.input)


def stream_sync():
    return list(runpod.Endpoint(args.endpoint).run(job_input).stream())


async def stream_asyncio():
    async with ClientSession() as session:
        job = await runpod.AsyncioEndpoint(args.endpoint, session).run(job_input)
        return [chunk async for chunk in job.stream()]


print(json.dumps({"sync": stream_sync(), "asyncio": asyncio.run(stream_asyncio())}))
