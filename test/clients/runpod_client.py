"""The PyPI package runpod, unmodified, as a client of an endpoint of the hello worker.

    python test/clients/runpod_client.py --base-url http://127.0.0.1:8787/v2 --api-key KEY --endpoint ID

Prints a line per check; ends with an exception, so with exit code 1, at the first difference.
"""

import argparse
import asyncio
import os
import re
import time

flags = argparse.ArgumentParser()
flags.add_argument("--base-url", required=True)
flags.add_argument("--api-key", required=True)
flags.add_argument("--endpoint", required=True)
args = flags.parse_args()

# The package reads its address once, when it is imported.
os.environ["RUNPOD_ENDPOINT_BASE_URL"] = args.base_url

import requests  # noqa: E402
import runpod  # noqa: E402
from runpod.http_client import ClientSession  # noqa: E402

runpod.api_key = args.api_key

JOB_LIMIT_S = 60
HEALTH = {
    "jobs": ["completed", "failed", "inProgress", "inQueue", "retried"],
    "workers": ["idle", "initializing", "ready", "running", "throttled", "unhealthy"],
}


def check(what, actual, expected):
    """Compares and says so."""
    assert actual == expected, f"DIFFERENT  {what}\n  is        {actual!r}\n  should be {expected!r}"
    print(f"ok         {what}", flush=True)


def check_final(what, body, status, output=None):
    """A final status carries whole milliseconds, its worker, and nothing else than what belongs there."""
    rest = {key: value for key, value in body.items() if key not in ("delayTime", "executionTime", "workerId", "id")}
    times = [type(body.get("delayTime")), type(body.get("executionTime"))]
    check(f"{what}: times are ints and the worker is named", times + [type(body.get("workerId"))], [int, int, str])
    error = {"error": body.get("error")} if status == "FAILED" else {}
    shape = {"status": status, **({"output": output} if output is not None else {}), **error}
    check(f"{what}: the rest of the body", rest, shape)


def check_health(what, health):
    # Limits and usage stand beside them; clients that know nothing of those read past them.
    health = {part: health[part] for part in HEALTH}
    names = {part: sorted(counts) for part, counts in health.items()}
    check(f"{what}: all eleven counts", names, HEALTH)
    kinds = {type(count) for counts in health.values() for count in counts.values()}
    check(f"{what}: counts are ints", kinds, {int})


def check_sync_client():
    endpoint = runpod.Endpoint(args.endpoint)
    client = endpoint.rp_client

    job = endpoint.run({"name": "Ada"})
    check("run: the id is fit for a URL", bool(re.fullmatch(r"[A-Za-z0-9_-]+", job.job_id)), True)
    check("run: output waits for the result", job.output(timeout=JOB_LIMIT_S), {"greeting": "Hello, Ada!"})
    check("run: status", job.status(), "COMPLETED")
    body = client.get(f"{args.endpoint}/status/{job.job_id}")
    check_final("run", body, "COMPLETED", {"greeting": "Hello, Ada!"})

    check("run_sync with a plain input", endpoint.run_sync({"name": "Grace"}), {"greeting": "Hello, Grace!"})
    wrapped = {"input": {"name": "Edsger"}, "policy": {"executionTimeout": 30_000, "ttl": 60_000}}
    check("run_sync with a whole request", endpoint.run_sync(wrapped), {"greeting": "Hello, Edsger!"})
    check("run_sync with an empty input", endpoint.run_sync({}), {"greeting": "Hello, world!"})

    failed = endpoint.run({"fail": "out of greetings"})
    check("a failed job has no output", failed.output(timeout=JOB_LIMIT_S), None)
    body = client.get(f"{args.endpoint}/status/{failed.job_id}")
    check_final("a failed job", body, "FAILED")
    check("a failed job says why", "out of greetings" in body["error"], True)

    endless = endpoint.run({"seconds": 600})
    wait_until(lambda: endless.status() == "IN_PROGRESS")
    check("cancel", endless.cancel(), {"id": endless.job_id, "status": "CANCELLED"})
    check("status after cancel", endless.status(), "CANCELLED")

    check_health("health", endpoint.health())
    check("purge of an empty queue", endpoint.purge_queue(), {"removed": 0, "status": "completed"})
    check_refusals(endpoint)


def check_refusals(endpoint):
    def status_of(call):
        try:
            call()
        except requests.HTTPError as error:
            return error.response.status_code
        except RuntimeError as error:
            return str(error).split(" ", maxsplit=1)[0]
        return None

    stranger = runpod.Endpoint(args.endpoint, api_key="wrong-key")
    check("a wrong key", status_of(stranger.health), "401")
    check("an unknown endpoint", status_of(runpod.Endpoint("no-such-endpoint").health), 404)
    missing = f"{args.endpoint}/status/no-such-job"
    check("an unknown job", status_of(lambda: endpoint.rp_client.get(missing)), 404)


async def check_asyncio_client():
    async with ClientSession() as session:
        endpoint = runpod.AsyncioEndpoint(args.endpoint, session)

        job = await endpoint.run({"name": "Ada"})
        check("asyncio: output waits for the result", await job.output(timeout=JOB_LIMIT_S), {"greeting": "Hello, Ada!"})
        check("asyncio: status", await job.status(), "COMPLETED")

        jobs = await asyncio.gather(*(endpoint.run({"name": str(number)}) for number in range(5)))
        outputs = await asyncio.gather(*(job.output(timeout=JOB_LIMIT_S) for job in jobs))
        check("asyncio: five at once", outputs, [{"greeting": f"Hello, {number}!"} for number in range(5)])

        endless = await endpoint.run({"seconds": 600})
        while await endless.status() != "IN_PROGRESS":
            await asyncio.sleep(0.1)
        check("asyncio: cancel", await endless.cancel(), {"id": endless.job_id, "status": "CANCELLED"})
        check("asyncio: status after cancel", await endless.status(), "CANCELLED")
        check_health("asyncio: health", await endpoint.health())


def wait_until(is_so):
    deadline = time.monotonic() + JOB_LIMIT_S
    while not is_so():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.1)


check_sync_client()
asyncio.run(asyncio.wait_for(check_asyncio_client(), timeout=3 * JOB_LIMIT_S))
