"""An app as a build leaves it, but for the package of the runtime."""

import asyncio

from edgerun import Endpoint

api = Endpoint(name="api", cpu="cpu3c-1-2")


@Endpoint(name="jobs", cpu="cpu3c-1-2", max_concurrency=2)
async def jobs(value=None, fail=None, wait=False):
    if fail is not None:
        raise ValueError(fail)
    if wait:
        await asyncio.Event().wait()
    return value


@Endpoint(name="plain", cpu="cpu3c-1-2")
def plain(count):
    return [*range(count)]


@Endpoint(name="stream", cpu="cpu3c-1-2")
def stream(count):
    for number in range(count):
        print("yields", number)
        yield {"number": number}


@api.get("/double/{number}")
async def double(number: int):
    return {"double": 2 * number}
