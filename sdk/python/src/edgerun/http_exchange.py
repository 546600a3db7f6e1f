"""HTTP requests, each in its own thread, so that any number of calls can wait concurrently.

Modules are loaded at the first call, since most workers make none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .errors import HttpError

T = TypeVar("T")

BACK_OFF_FIRST_SECONDS = 0.5
BACK_OFF_MAX_SECONDS = 10.0
REFUSED = (429,)
"""It was too much at once; the request was not begun."""
BUSY = (429, 503)
"""Also: something on the way was not there for a moment. What must not be done twice may have been begun."""


@dataclass(frozen=True)
class Request:
    """An HTTP request; `body` is JSON. Sent without authorization if there is no key."""

    method: str
    url: str
    api_key: str
    timeout_seconds: float
    body: bytes | None = None
    headers: Mapping[str, str] | None = None


def exchange(request: Request) -> Any:
    """Sends a request; returns the parsed JSON, None for an empty body, or the body as a string where it is not JSON.

    Raises:
        APIKeyError: The service rejects the key.
        PayloadTooLargeError: The body is larger than the service accepts.
        HttpError: Any other HTTP error.
        SerializationError: The answer is JSON that Python's json does not read.
        ServiceUnreachableError: No answer came.
        TimeoutError: None came in time.
    """
    from .http_transport import send

    return send(request)


async def exchange_in_thread(request: Request) -> Any:
    """`exchange` for coroutines."""
    return await in_thread(lambda: exchange(request))


async def in_thread(work: Callable[[], T]) -> T:
    """Runs `work` in a daemon thread; returns or raises what it does."""
    import asyncio

    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[T] = loop.create_future()

    def settle(set_it: Callable[[Any], None], value: Any) -> None:
        try:
            loop.call_soon_threadsafe(lambda: None if outcome.done() else set_it(value))
        except RuntimeError:
            pass  # The loop is closed.

    def run() -> None:
        try:
            result = work()
        except BaseException as error:  # noqa: BLE001 -- it is raised where the outcome is awaited
            settle(outcome.set_exception, error)
        else:
            settle(outcome.set_result, result)

    threading.Thread(target=run, daemon=True, name="edgerun-http").start()
    return await outcome


async def patiently(
    attempt: Callable[[], Awaitable[T]], deadline: float, *, again_on: tuple[int, ...] = BUSY
) -> T:
    """Awaits `attempt`, and again while these are its statuses, until `deadline` on the monotonic clock."""
    import asyncio

    pause = BACK_OFF_FIRST_SECONDS
    while True:
        try:
            return await attempt()
        except HttpError as error:
            wait = back_off(error, pause) if error.status in again_on else None
            if wait is None or time.monotonic() + wait > deadline:
                raise
        await asyncio.sleep(wait)
        pause = min(pause * 2, BACK_OFF_MAX_SECONDS)


def back_off(error: HttpError, pause: float) -> float | None:
    """Seconds to wait after a rejection by a busy service; None for any other error."""
    if error.status not in BUSY:
        return None
    import random

    return max(error.retry_after or 0.0, pause * random.uniform(0.5, 1.0))
