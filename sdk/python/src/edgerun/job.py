"""Jobs of an endpoint's queue, as a client sees them."""

from __future__ import annotations

import time
from typing import Any

from .errors import HttpError, ServiceUnreachableError
from .http_exchange import back_off, patiently
from .queue_api import QueueApi

FINAL_STATUSES = ("COMPLETED", "FAILED", "CANCELLED", "TIMED_OUT")

POLL_FIRST_SECONDS = 0.25
POLL_GROWTH = 1.5
POLL_MAX_SECONDS = 5.0
TRANSPORT_ERRORS_MAX = 4
_BUSY_LIMIT_SECONDS = 60.0


class EndpointJob:
    """A job, in its last known state."""

    def __init__(self, api: QueueApi, reply: dict[str, Any]) -> None:
        self._api = api
        self._reply = reply

    @property
    def id(self) -> str:
        """Its id."""
        return str(self._reply.get("id", ""))

    @property
    def output(self) -> Any:
        """What the handler returned; None before, and when it returned nothing."""
        return self._reply.get("output")

    @property
    def error(self) -> str | None:
        """Why it failed; None when it did not fail."""
        error = self._reply.get("error")
        return None if error is None else str(error)

    @property
    def done(self) -> bool:
        """Whether it has ended: COMPLETED, FAILED, CANCELLED or TIMED_OUT."""
        return self.last_status in FINAL_STATUSES

    @property
    def completed(self) -> bool:
        """Whether it has ended well."""
        return self.last_status == "COMPLETED"

    @property
    def last_status(self) -> str:
        """Its last known status."""
        return str(self._reply.get("status", "UNKNOWN"))

    async def status(self) -> str:
        """Requests its status, such as IN_QUEUE, IN_PROGRESS or COMPLETED.

        Raises:
            HttpError: The service rejects the request; 404 when the job is unknown, or its result is not kept any more.
            ServiceUnreachableError: No answer came.
        """
        deadline = time.monotonic() + _BUSY_LIMIT_SECONDS
        self._reply = await patiently(lambda: self._api.status(self.id), deadline)
        return self.last_status

    async def cancel(self) -> EndpointJob:
        """Stops it when it waits or runs; once it has ended it stays as it is.

        Raises:
            HttpError: The service rejects the request.
            ServiceUnreachableError: No answer came.
        """
        deadline = time.monotonic() + _BUSY_LIMIT_SECONDS
        answer = await patiently(lambda: self._api.cancel(self.id), deadline)
        self._reply = {**self._reply, **answer}
        return self

    async def wait(self, timeout: float | None = None) -> EndpointJob:
        """Waits until it has ended.

        Args:
            timeout: Seconds to wait at most; None waits for as long as it takes.

        Raises:
            TimeoutError: The job has not ended by then; it continues to run.
            HttpError: The service rejects the request; 404 when the job is unknown, or its result is not kept any more.
            ServiceUnreachableError: The service could not be reached five times in a row.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        pause, failures = POLL_FIRST_SECONDS, 0
        while not self.done:
            await self._sleep(pause, deadline, timeout)
            pause = min(pause * POLL_GROWTH, POLL_MAX_SECONDS)
            try:
                self._reply = await self._api.status(self.id)
                failures = 0
            except (HttpError, ServiceUnreachableError, TimeoutError) as error:
                busy = back_off(error, pause) if isinstance(error, HttpError) else None
                if busy is not None:
                    pause = busy
                    continue
                failures += 1
                if failures > TRANSPORT_ERRORS_MAX or (isinstance(error, HttpError) and error.status < 500):
                    raise
        return self

    async def _sleep(self, pause: float, deadline: float | None, timeout: float | None) -> None:
        left = pause if deadline is None else deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError(
                f"Job {self.id} has not ended within {timeout:g} s; its last status is {self.last_status}."
            )
        import asyncio

        await asyncio.sleep(min(pause, left))

    def __repr__(self) -> str:
        return f"EndpointJob(id={self.id!r}, status={self.last_status!r})"
