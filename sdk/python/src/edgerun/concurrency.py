"""Warnings about an endpoint's `max_concurrency`."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

from .remote_class import public_methods

_MUCH = 100


def warn_of_concurrency(max_concurrency: int, target: Callable[..., Any]) -> None:
    """Warns where the concurrency is probably too high."""
    if max_concurrency > _MUCH:
        _warn(
            f"max_concurrency={max_concurrency} is above {_MUCH}: that many jobs share one worker's memory and GPU."
        )
    if max_concurrency > 1 and not _is_async(target):
        _warn(
            f"max_concurrency={max_concurrency} of {target.__qualname__}, which is not async: "
            "its jobs run in threads, so it must be safe for them, and CPU work of Python is not done in parallel."
        )


def warn_of_ignored_concurrency(max_concurrency: int) -> None:
    """Warns where the endpoint has no queue."""
    if max_concurrency > 1:
        _warn(f"max_concurrency={max_concurrency} is ignored: an endpoint with routes has no queue.")


def _is_async(target: Callable[..., Any]) -> bool:
    functions = public_methods(target).values() if isinstance(target, type) else [target]
    return all(inspect.iscoroutinefunction(one) or inspect.isasyncgenfunction(one) for one in functions)


def _warn(message: str) -> None:
    # Skips the frames of this module and of the endpoint, up to the user's.
    warnings.warn(message, UserWarning, stacklevel=4)
