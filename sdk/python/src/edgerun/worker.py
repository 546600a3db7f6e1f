"""Whether this process is a deployed worker, and of which endpoint."""

from __future__ import annotations

import os

LIVE_PREFIX = "live-"
"""Endpoints of `flash dev` have it before their name; code knows them without."""


def is_worker() -> bool:
    """Whether this process runs in a worker of the service."""
    return bool(os.environ.get("RUNPOD_ENDPOINT_ID") or os.environ.get("RUNPOD_POD_ID"))


def is_worker_of(name: str) -> bool:
    """Whether this process runs in a worker of the endpoint of this name."""
    resource = os.environ.get("FLASH_RESOURCE_NAME", "")
    return is_worker() and resource.removeprefix(LIVE_PREFIX) == name.removeprefix(LIVE_PREFIX)
