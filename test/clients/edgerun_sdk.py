"""The edgerun package against a real edge that has no hosts; prints what it saw, as JSON."""

import asyncio
import json
import os

from edgerun import CallTimeoutError, Endpoint, EndpointNotFoundError, FlashApp, NetworkVolume
from edgerun.lifecycle import lifecycle_allowed


@Endpoint(name="resize", cpu="cpu3c-1-2")
def resize(width: int) -> int:
    return width


async def error_of(awaitable) -> str:
    try:
        await awaitable
    except (CallTimeoutError, EndpointNotFoundError) as error:
        return type(error).__name__
    return "none"


async def own_image() -> dict:
    volume = NetworkVolume("models")
    workers = Endpoint(
        name="llm", image="me/llm:1", volume=volume, env={"A": "1"}, workers=(0, 0), datacenter="eu-ro-1"
    )
    job = await workers.run({"prompt": "x"})
    again = Endpoint(name="llm", image="me/llm:1")
    found = await again.status(job.id)
    cancelled = await again.cancel(job.id)
    with lifecycle_allowed():
        id = await workers.deploy()
        same_volume = await volume.deploy() == await NetworkVolume("models").deploy()
        updated = await workers.update() == id
        await workers.undeploy()
    return {
        "status": found,
        "cancelled": cancelled.last_status,
        "same_volume": same_volume,
        "updated": updated,
    }


async def app_and_environment() -> dict:
    with lifecycle_allowed():
        app = await FlashApp.get_or_create("shop")
        same = await FlashApp.get_or_create("shop")
        await app.create_environment("staging")
    before = await error_of(resize(1))
    return {"same_app": app == same, "before": before, "app": app.id}


async def remove_app() -> None:
    with lifecycle_allowed():
        await FlashApp(id="", name="shop").delete("shop")


STEPS = {
    "own_image": own_image,
    "app": app_and_environment,
    "call": lambda: error_of(resize(1)),
    "remove": remove_app,
}

print(json.dumps(asyncio.run(STEPS[os.environ["STEP"]]())))
