"""The api module of the PyPI package runpod, unmodified: every function of it against a whole Edgerun.

    python test/clients/runpod_api.py --base-url http://127.0.0.1:8787 --api-key KEY

Prints a line per check; ends with an exception, so with exit code 1, at the first difference.
"""

import argparse
import inspect
import os
import time

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
flags.add_argument("--api-key", required=True)
args = flags.parse_args()

# The package reads its addresses once, when it is imported.
os.environ["RUNPOD_API_BASE_URL"] = args.base_url
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = f"{args.base_url}/v2"

import runpod  # noqa: E402
from runpod.api import ctl_commands as api  # noqa: E402
from runpod.error import AuthenticationError, QueryError  # noqa: E402

runpod.api_key = args.api_key
called = set()


def call(function, *positional, **named):
    """Calls a function of the module and remembers that it was called."""
    called.add(function.__name__)
    return function(*positional, **named)


def check(what, actual, expected):
    """Compares and says so."""
    assert actual == expected, f"DIFFERENT  {what}\n  is        {actual!r}\n  should be {expected!r}"
    print(f"ok         {what}", flush=True)


def refusal(function, *positional, **named):
    """The message with which a call is refused."""
    try:
        answer = call(function, *positional, **named)
    except (QueryError, ValueError) as refused:
        return str(refused)
    raise AssertionError(f"{function.__name__} was not refused: {answer!r}")


def account():
    user = call(api.get_user)
    check("the account has what the package asks for", sorted(user), ["id", "networkVolumes", "pubKey"])
    keys = "ssh-ed25519 AAAA one\n\nssh-ed25519 BBBB two"
    check("public keys are stored as sent", call(api.update_user_settings, keys)["pubKey"], keys)
    check("and read again", call(api.get_user)["pubKey"], keys)
    call(api.update_user_settings, "")


def cards():
    listed = call(api.get_gpus)
    check("cards are listed", all(sorted(card) == ["displayName", "id", "memoryInGb"] for card in listed), True)
    card = call(api.get_gpu, "NVIDIA GeForce RTX 4090")
    check("a card is found by its id", [card["id"], card["memoryInGb"]], ["NVIDIA GeForce RTX 4090", 24])
    check("its price is a number", card["lowestPrice"]["uninterruptablePrice"] > 0, True)
    check("another is not", "No GPU found" in refusal(api.get_gpu, "Voodoo 2"), True)


def endpoints():
    template = call(
        api.create_template,
        name="from-python",
        image_name="runpod/base:0.6",
        docker_start_cmd='python3 -c "print(1)"',
        container_disk_in_gb=5,
        env={"A": "1", "B": "two words"},
        is_serverless=True,
    )
    check("a template", [template["name"], template["imageName"]], ["from-python", "runpod/base:0.6"])
    taken = refusal(api.create_template, name="from-python", image_name="other", is_serverless=True)
    check("a name is given once", "already exists" in taken, True)

    made = call(api.create_endpoint, "from-python", template["id"], gpu_ids="ADA_24", flashboot=True, workers_max=2)
    check("an endpoint", [made["gpuIds"], made["workersMax"], made["templateId"]], ["ADA_24", 2, template["id"]])
    listed = {endpoint["id"]: endpoint for endpoint in call(api.get_endpoints)}
    check("is listed by its name", listed[made["id"]]["name"].removesuffix(" -fb"), "from-python")

    second = call(api.create_template, name="from-python-2", image_name="runpod/base:0.7", is_serverless=True)
    moved = call(api.update_endpoint_template, made["id"], second["id"])
    check("gets another template", moved["templateId"], second["id"])
    unknown = refusal(api.update_endpoint_template, "nowhere", second["id"])
    check("an unknown endpoint is named", "nowhere" in unknown and "not found" in unknown, True)
    bad = refusal(api.create_endpoint, "bad", template["id"], gpu_ids="ADA_9000")
    check("an unknown tier is named", "ADA_9000" in bad and "AMPERE_16" in bad, True)

    queue = runpod.Endpoint(made["id"])
    check("its queue answers at once", queue.health()["jobs"]["inQueue"], 0)


def registry():
    made = call(api.create_container_registry_auth, "from-python", "me", "p4ss-word")
    check("a credential shows its name only", sorted(made), ["id", "name"])
    changed = call(api.update_container_registry_auth, made["id"], "me", "other")
    check("is changed", changed["id"], made["id"])
    template = call(
        api.create_template,
        name="from-python-private",
        image_name="private/image:1",
        is_serverless=True,
        registry_auth_id=made["id"],
    )
    refused = refusal(api.delete_container_registry_auth, made["id"])
    check("is not deleted while in use", "from-python-private" in refused, True)
    check("the template knows it", bool(template["id"]), True)
    free = call(api.create_container_registry_auth, "from-python-free", "me", "p4ss-word")
    check("is deleted otherwise", call(api.delete_container_registry_auth, free["id"]), None)


def pods():
    check("there are no pods", call(api.get_pods), [])
    check("nor is there one", call(api.get_pod, "nowhere"), None)
    gpu = refusal(api.create_pod, "pod", "runpod/base:0.6", "NVIDIA B200", gpu_count=64)
    check("64 GPUs find no capacity", "no longer any instances available" in gpu, True)
    life_of_a_pod()
    check("a terminated pod is gone", call(api.get_pods), [])
    check("an unknown pod is not stopped", "not found" in refusal(api.stop_pod, "nowhere"), True)
    check("nor resumed", "not found" in refusal(api.resume_pod, "nowhere", 1), True)
    check("nor terminated", refusal(api.terminate_pod, "nowhere"), "pod not found to terminate")


def life_of_a_pod():
    settings = {"gpu_count": 1, "docker_args": "sleep 100000", "ports": "8888/http"}
    pod = call(api.create_pod, "pod", "runpod/base:0.6", "NVIDIA L4", **settings)
    check("a pod comes up", running(pod["id"])["desiredStatus"], "RUNNING")
    check("is listed", [each["id"] for each in call(api.get_pods)], [pod["id"]])
    check("is stopped", call(api.stop_pod, pod["id"])["desiredStatus"], "EXITED")
    call(api.resume_pod, pod["id"], 1)
    check("comes up again", running(pod["id"])["desiredStatus"], "RUNNING")
    check("is terminated", call(api.terminate_pod, pod["id"]), None)


def running(pod_id):
    """The pod, once its container runs."""
    give_up_at = time.monotonic() + 60
    while time.monotonic() < give_up_at:
        pod = call(api.get_pod, pod_id)
        if pod["runtime"] is not None:
            return pod
    raise AssertionError(f"the pod does not come up: {pod!r}")


def wrong_key():
    try:
        api.get_user(api_key="er_wrong")
    except AuthenticationError:
        print("ok         a wrong key is an AuthenticationError", flush=True)
    else:
        raise AssertionError("a wrong key was accepted")


account()
cards()
endpoints()
registry()
pods()
wrong_key()

functions = {name for name, thing in vars(api).items() if inspect.isfunction(thing) and thing.__module__ == api.__name__}
check("every function of the module was called", functions - called, set())
