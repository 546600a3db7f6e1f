"""How endpoints scale, and the two types of endpoints."""

from __future__ import annotations

from enum import Enum

DEFAULT_WORKERS_MIN = 0
"""Workers that stay while there are no jobs."""
DEFAULT_WORKERS_MAX = 1
"""The default maximum number of workers of an endpoint."""
WORKERS_MAX = 1000
"""The most workers that an endpoint may have."""


class ServerlessScalerType(str, Enum):
    """What workers are counted by."""

    QUEUE_DELAY = "QUEUE_DELAY"
    """Another worker when a job has waited for `scaler_value` seconds."""
    REQUEST_COUNT = "REQUEST_COUNT"
    """A worker for each `scaler_value` jobs or requests."""


class ServerlessType(str, Enum):
    """How work comes to an endpoint."""

    QB = "QB"
    """Through a queue."""
    LB = "LB"
    """As HTTP requests that go straight to workers."""


def read_workers(value: object) -> tuple[int, int]:
    """Checks the `workers` parameter: a number n, meaning (0, n), or a pair (min, max).

    Raises:
        ValueError: It is something else.
    """
    pair = tuple(value) if isinstance(value, (list, tuple)) else (DEFAULT_WORKERS_MIN, value)
    if len(pair) != 2 or not all(isinstance(number, int) and not isinstance(number, bool) for number in pair):
        raise ValueError(f"workers={value!r} must be a whole number, or a pair (min, max) of whole numbers.")
    least, most = pair
    if least < 0 or most < 0:
        raise ValueError(f"workers={value!r} must not be negative: the least is 0.")
    if least > most:
        raise ValueError(f"workers={value!r} has min {least} above max {most}: min must be at most max.")
    if most > WORKERS_MAX:
        raise ValueError(f"workers={value!r} has max {most}: an endpoint may have at most {WORKERS_MAX}.")
    return least, most


def read_scaler_type(value: object) -> ServerlessScalerType:
    """Checks the `scaler_type` parameter.

    Raises:
        ValueError: It is no ServerlessScalerType.
    """
    if isinstance(value, str):
        try:
            return ServerlessScalerType(value)
        except ValueError:
            pass
    raise ValueError(
        f"scaler_type={value!r} must be ServerlessScalerType.QUEUE_DELAY or ServerlessScalerType.REQUEST_COUNT."
    )
