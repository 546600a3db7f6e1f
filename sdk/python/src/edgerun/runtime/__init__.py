"""What runs in a deployed worker: `python -m edgerun.runtime`."""

from .execution import progress
from .handler import queue_handler

__all__ = ["progress", "queue_handler"]
