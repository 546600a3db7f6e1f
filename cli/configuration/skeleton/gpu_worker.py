"""An endpoint with a queue, on a GPU."""

from edgerun import Endpoint, GpuGroup


@Endpoint(name="gpu_worker", gpu=GpuGroup.ANY, dependencies=["torch"])
async def gpu_hello(input_data: dict) -> dict:
    """Greet, and name the GPU."""
    # Imported here, because only the worker needs it.
    try:
        import torch
    except ImportError:
        gpu = None
    else:
        gpu = torch.cuda.get_device_name(0) if torch.cuda.is_available() else None
    return {"message": f"Hello, {input_data.get('name', 'GPU')}!", "gpu": gpu}


if __name__ == "__main__":
    import asyncio

    # Calls the deployed function; with FLASH_IS_LIVE_PROVISIONING=true that of `flash dev`.
    print(asyncio.run(gpu_hello({"name": "GPU"})))
