"""A worker that does what its input asks for: answers, waits, fails, crashes, streams.

It exists to see how an endpoint behaves in each case. The keys of `input` are listed in README.md.
Start flags: --generator, --async_generator, --return_aggregate_stream.
"""

import argparse
import asyncio
import os
import time

import runpod

MEBIBYTE = 1024 * 1024


async def handler(job):
    """One answer per job. Waits without blocking, so that several jobs can run at once."""
    wish = job["input"] or {}
    write_logs(wish)
    await report_progress(job, wish.get("mock_progress"))
    await asyncio.sleep(wish.get("mock_delay", 0))
    time.sleep(wish.get("mock_block", 0))  # on purpose: the loop stands still, pings and stops too
    if wish.get("mock_never"):
        await asyncio.Event().wait()
    fail(wish)
    return answer(wish)


def generator(job):
    """One chunk per element of mock_return, mock_delay seconds apart; fails after the last one."""
    wish = job["input"] or {}
    write_logs(wish)
    for chunk in chunks(wish):
        time.sleep(wish.get("mock_delay", 0))
        yield chunk
    fail(wish)


async def async_generator(job):
    """The same as `generator`, without blocking."""
    wish = job["input"] or {}
    write_logs(wish)
    for chunk in chunks(wish):
        await asyncio.sleep(wish.get("mock_delay", 0))
        yield chunk
    fail(wish)


def answer(wish):
    """What the handler returns when nothing went wrong."""
    if wish.get("mock_unserialisable"):
        return {"mock_return": object()}
    if "mock_megabytes" in wish:
        return {"filler": "x" * (wish["mock_megabytes"] * MEBIBYTE)}
    error_value = wish.get("mock_external", {}).get("error_job_return")
    if error_value is not None:
        return {"error": "Mock error value" if error_value is True else error_value}
    output = wish.get("mock_return", "Hello World!")
    if wish.get("mock_refresh"):
        return {"refresh_worker": True, "mock_return": output}
    return output


def chunks(wish):
    """mock_return as a list of chunks."""
    output = wish.get("mock_return", ["Hello World!"])
    return output if isinstance(output, list) else [output]


def fail(wish):
    """Raises or ends the process where the input asks for it."""
    if wish.get("mock_crash"):
        os._exit(1)
    error = wish.get("mock_error")
    if error:
        raise RuntimeError("Mock error" if error is True else error)


def write_logs(wish):
    """Prints mock_logs, a line or a list of lines."""
    lines = wish.get("mock_logs", [])
    for line in [lines] if isinstance(lines, str) else lines:
        print(line, flush=True)


async def report_progress(job, progress):
    """Sends progress.updates updates, progress.wait_time seconds apart."""
    if not progress:
        return
    updates = progress.get("updates", 1)
    for number in range(1, updates + 1):
        runpod.serverless.progress_update(job, f"Update {number}/{updates}")
        await asyncio.sleep(progress.get("wait_time", 0))


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
