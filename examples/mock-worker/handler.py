"""A worker that does what its input asks for: answers, waits, fails, crashes, streams.

It exists to see how an endpoint behaves in each case. The keys of `input` are listed in README.md.
Start flags: --generator, --async_generator, --return_aggregate_stream.
"""

import argparse
import asyncio
import itertools
import os
import threading
import time

import runpod
from runpod.serverless.modules import rp_http

MEBIBYTE = 1024 * 1024

log = runpod.RunPodLogger()
job_count = itertools.count(1)


async def handler(job):
    """One answer per job. Waits without blocking, so that several jobs can run at once."""
    payload = job["input"] or {}
    number = next(job_count)
    write_logs(job, payload)
    await report_progress(job, payload.get("mock_progress"))
    await asyncio.sleep(payload.get("mock_delay", 0))
    time.sleep(payload.get("mock_block", 0))  # on purpose: the loop stands still, pings and stops too
    await wait_deaf(payload.get("mock_deaf", 0))
    if payload.get("mock_never"):
        await wait_until_stopped(job)
    fail(payload)
    return {"job_number": number} if payload.get("mock_count") else answer(payload)


def generator(job):
    """One chunk per element of mock_return, mock_delay seconds apart; fails after the last one."""
    payload = job["input"] or {}
    write_logs(job, payload)
    for chunk in chunks(payload):
        time.sleep(payload.get("mock_delay", 0))
        yield chunk
    fail(payload)


async def async_generator(job):
    """The same as `generator`, without blocking."""
    payload = job["input"] or {}
    write_logs(job, payload)
    for chunk in chunks(payload):
        await asyncio.sleep(payload.get("mock_delay", 0))
        yield chunk
    fail(payload)


def answer(payload):
    """What the handler returns when nothing went wrong."""
    if payload.get("mock_unserialisable"):
        return {"mock_return": object()}
    if "mock_megabytes" in payload:
        return {"filler": "x" * (payload["mock_megabytes"] * MEBIBYTE)}
    if "mock_error_value" in payload:
        return {"error": payload["mock_error_value"]}
    output = payload.get("mock_return", "Hello World!")
    if payload.get("mock_refresh"):
        return {"refresh_worker": True, "mock_return": output}
    return output


def chunks(payload):
    """mock_return as a list of chunks."""
    output = payload.get("mock_return", ["Hello World!"])
    return output if isinstance(output, list) else [output]


async def wait_until_stopped(job):
    """Waits for the stop of this job and prints when it came."""
    try:
        await asyncio.Event().wait()
    finally:
        print(f"{job['id']} was stopped at {time.time():.3f}", flush=True)


async def wait_deaf(seconds):
    """Waits that long, ignoring attempts to stop it."""
    until = time.monotonic() + seconds
    while (left := until - time.monotonic()) > 0:
        try:
            await asyncio.sleep(left)
        except asyncio.CancelledError:
            print("was stopped, and goes on", flush=True)


def fail(payload):
    """Raises, ends the process or spoils its address for results where the input asks for it."""
    if payload.get("mock_crash"):
        os._exit(1)
    if payload.get("mock_external", {}).get("error_job_return"):
        rp_http.JOB_DONE_URL = "http://127.0.0.1:9/"  # nothing of this process arrives any more
    error = payload.get("mock_error")
    if error:
        raise RuntimeError("Mock error" if error is True else error)


def write_logs(job, payload):
    """Prints mock_logs: a line, or a list of lines and of records with a level."""
    entries = payload.get("mock_logs", [])
    for entry in [entries] if isinstance(entries, str) else entries:
        if isinstance(entry, str):
            print(entry, flush=True)
        else:
            level = entry.get("level", "info").lower()
            getattr(log, level)(entry["message"], job["id"])


async def report_progress(job, progress):
    """Sends progress.updates (values, or how many), progress.wait_time seconds apart, and progress.late afterwards."""
    if not progress:
        return
    updates = progress.get("updates", [])
    if isinstance(updates, int):
        updates = [f"Update {number}/{updates}" for number in range(1, updates + 1)]
    for update in updates:
        runpod.serverless.progress_update(job, update)
        await asyncio.sleep(progress.get("wait_time", 0))
    if "late" in progress:
        threading.Timer(0.5, runpod.serverless.progress_update, (job, progress["late"])).start()


def configuration():
    """The SDK's start configuration for the start flags and the environment of this worker."""
    flags = argparse.ArgumentParser()
    flags.add_argument("--generator", action="store_true")
    flags.add_argument("--async_generator", action="store_true")
    flags.add_argument("--return_aggregate_stream", action="store_true")
    chosen, _ = flags.parse_known_args()

    config = {"handler": handler, "return_aggregate_stream": chosen.return_aggregate_stream}
    if chosen.generator:
        config["handler"] = generator
    if chosen.async_generator:
        config["handler"] = async_generator
    concurrency = int(os.environ.get("CONCURRENCY_MODIFIER", "1"))
    if concurrency > 1:
        config["concurrency_modifier"] = lambda current: concurrency
    return config


if __name__ == "__main__":
    runpod.serverless.start(configuration())
