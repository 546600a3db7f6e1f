"""An endpoint with a queue, on CPUs alone."""

from edgerun import Endpoint


@Endpoint(name="cpu_worker", cpu="cpu3c-1-2")
async def cpu_hello(input_data: dict) -> dict:
    """Greet, and say where this runs."""
    # Imported here, because only the worker needs it.
    import platform

    name = input_data.get("name", "CPU")
    return {"message": f"Hello, {name}!", "python": platform.python_version()}


if __name__ == "__main__":
    import asyncio

    # Calls the deployed function; with FLASH_IS_LIVE_PROVISIONING=true that of `flash dev`.
    print(asyncio.run(cpu_hello({"name": "CPU"})))
