"""The event loop of a worker: one for all jobs, so that async clients can be shared between them."""

from __future__ import annotations

import asyncio
import concurrent.futures
import threading
from collections.abc import Awaitable, Callable
from typing import Any

from .failures import Stopped


class Call:
    """Something awaitable that runs on the loop, seen from another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, awaitable: Awaitable[Any]) -> None:
        self._loop = loop
        self._awaitable = awaitable
        self._future: concurrent.futures.Future[Any] = concurrent.futures.Future()
        self._task: asyncio.Task[None] | None = None
        loop.call_soon_threadsafe(self._begin)

    def result(self) -> Any:
        """Waits for its end. Raises what it raises, or Stopped."""
        return self._future.result()

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(lambda: self._task.cancel() if self._task else None)

    def _begin(self) -> None:
        self._task = self._loop.create_task(self._finish())
        self._task.add_done_callback(self._end)

    def _end(self, _: asyncio.Task[None]) -> None:
        if not self._future.done():  # it was cancelled before it began
            self._future.set_exception(Stopped())

    async def _finish(self) -> None:
        try:
            self._future.set_result(await self._awaitable)
        except asyncio.CancelledError:
            self._future.set_exception(Stopped())
        except BaseException as error:  # also SystemExit, which would end the loop
            self._future.set_exception(error)


class EventLoop:
    """Starts at its first use, on its own thread unless it is run in place."""

    is_of_main_thread = False

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._lock = threading.Lock()
        self._runs = False

    def call(self, awaitable: Awaitable[Any]) -> Call:
        """Begins to await something on the loop."""
        with self._lock:
            if not self._runs:
                self._runs = True
                threading.Thread(target=self._loop.run_forever, name="event-loop", daemon=True).start()
        return Call(self._loop, awaitable)

    def run_in_place(self, begin: Callable[[], None]) -> None:
        """Runs on this thread until `stop`. `begin` starts the threads that call things on it."""
        asyncio.set_event_loop(self._loop)
        with self._lock:
            self._runs = True
        begin()
        self._loop.run_forever()

    def complete(self, awaitable: Awaitable[Any]) -> Any:
        """Awaits something on this thread, before the loop runs."""

        async def finish() -> Any:
            return await awaitable

        asyncio.set_event_loop(self._loop)
        return self._loop.run_until_complete(finish())

    def close(self) -> None:
        """Closes a loop that does not run."""
        self._loop.close()

    def stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
