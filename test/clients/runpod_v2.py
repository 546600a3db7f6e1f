"""The PyPI package runpod 2.0, unmodified, whose management functions use REST v2, against a whole Edgerun.

    python test/clients/runpod_v2.py --base-url http://127.0.0.1:8787 --api-key KEY

Prints a line per check; ends with an exception, so with exit code 1, at the first difference.
"""

import argparse
import asyncio
import os

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
flags.add_argument("--api-key", required=True)
args = flags.parse_args()

# The package reads its addresses once, when it is imported.
os.environ["RUNPOD_API_BASE_URL"] = args.base_url
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = f"{args.base_url}/v2"
os.environ["RUNPOD_API_URL"] = f"{args.base_url}/graphql"

import runpod  # noqa: E402
from runpod.api import ctl_commands as api  # noqa: E402
from runpod.apps.api import AppsApiClient  # noqa: E402
from runpod.error import AuthenticationError, QueryError  # noqa: E402

runpod.api_key = args.api_key


def check(what, actual, expected):
    """Compares and says so."""
    assert actual == expected, f"DIFFERENT  {what}\n  is        {actual!r}\n  should be {expected!r}"
    print(f"ok         {what}", flush=True)


def refusal(function, *positional, error=QueryError, **named):
    """The message with which a call is refused."""
    try:
        answer = function(*positional, **named)
    except error as refused:
        return str(refused)
    raise AssertionError(f"{function.__name__} was not refused: {answer!r}")


def apps(operation, *positional, **named):
    """The answer of a method of the client with which apps are deployed."""

    async def call():
        return await getattr(AppsApiClient(args.api_key), operation)(*positional, **named)

    return asyncio.run(call())


def catalog():
    check("a card is found by its id", api.get_gpu("NVIDIA GeForce RTX 4090")["id"], "NVIDIA GeForce RTX 4090")
    check("another is not", "No GPU found" in refusal(api.get_gpu, "Voodoo 2", error=ValueError), True)
    check("cards are listed", any(card["id"] == "NVIDIA GeForce RTX 4090" for card in api.get_gpus()), True)
    check("volumes can be in a data center", "EU-RO-1" in apps("network_volume_datacenters"), True)
    stock = ("NONE", "LOW", "MEDIUM", "HIGH", "None", "Low", "Medium", "High", None)
    check("stock of a card", apps("gpu_stock_status", "NVIDIA GeForce RTX 4090", "EU-RO-1") in stock, True)
    for size in ("cpu5c-4-8", "cpu3c-1-2"):
        check(f"stock of {size}", apps("cpu_stock_status", size, "EU-RO-1") in stock, True)


def endpoints():
    template = api.create_template("of-sdk-2", "acme/worker:1", env={"A": "1"}, is_serverless=True)
    check("a template", [template["image"], template["env"]], ["acme/worker:1", {"A": "1"}])
    taken = refusal(api.create_template, "of-sdk-2", "acme/worker:1", is_serverless=True)
    check("a name is given once", "already" in taken, True)

    made = api.create_endpoint("of-sdk-2", template["id"], gpu_ids="AMPERE_24,-NVIDIA L4", workers_max=2)
    check("an endpoint", [made["workers"]["max"], made["gpu"]["excludedTypes"]], [2, ["NVIDIA L4"]])
    check("is listed", any(each["id"] == made["id"] for each in api.get_endpoints()), True)
    check("gets a template", api.update_endpoint_template(made["id"], template["id"])["id"], made["id"])
    check("has no workers yet", apps("endpoint_workers", made["id"])["summary"]["total"], 0)
    check("its queue answers at once", runpod.Endpoint(made["id"]).health()["jobs"]["inQueue"], 0)

    worker = {"imageName": "acme/worker:1", "env": [{"key": "A", "value": "1"}]}
    saved = {"name": "of-app", "template": worker, "gpuIds": "ADA_24", "gpuCount": 1, "workersMin": 0, "workersMax": 1}
    scaling = {"scalerType": "QUEUE_DELAY", "scalerValue": 4, "idleTimeout": 5}
    app = apps("save_endpoint", {**saved, **scaling})
    changed = apps("save_endpoint", {"id": app["id"], "workersMax": 2, "template": {"imageName": "acme/worker:2"}})
    check("an app's endpoint changes", [changed["image"], changed["env"]], ["acme/worker:2", {"A": "1"}])
    for each in (made, app):
        apps("delete_endpoint", each["id"])
    gone = refusal(apps, "delete_endpoint", app["id"])
    check("what is deleted is gone", app["id"] in gone, True)


def storage():
    made = api.create_container_registry_auth("of-sdk-2", "me", "p4ss-word")
    check("a credential changes", api.update_container_registry_auth(made["id"], "me", "other")["id"], made["id"])
    check("is listed", made["id"] in [each["id"] for each in apps("list_registry_auths")], True)
    api.delete_container_registry_auth(made["id"])
    volume = apps("create_network_volume", "of-sdk-2", 20, "EU-RO-1")
    check("a volume is listed", volume["id"] in [each["id"] for each in apps("list_network_volumes")], True)
    check("there are no global volumes", apps("list_global_volumes"), [])


def pods():
    check("there are no pods", api.get_pods(), [])
    pod = refusal(api.create_pod, "pod", "acme/pod:1", gpu_type_id="NVIDIA B200", gpu_count=64)
    check("one without a place is refused with a reason", "no longer any instances available" in pod, True)


catalog()
endpoints()
storage()
pods()
check("a wrong key is named", bool(refusal(api.get_gpus, api_key="er_wrong", error=AuthenticationError)), True)
print("ok         all was called")
