"""A load-balanced endpoint: an HTTP server with routes of its own, for short calls."""

from edgerun import Endpoint

api = Endpoint(name="lb_worker", cpu="cpu3c-1-2", workers=(1, 3))


@api.post("/process")
async def process(input_data: dict) -> dict:
    """Count what was sent."""
    return {"received": input_data, "fields": len(input_data)}


@api.get("/health")
async def health() -> dict:
    """Say that the worker is well."""
    return {"status": "healthy"}
