"""The main thread of a live worker, where code of either kind belongs: an event loop, or plain functions."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
from collections.abc import Callable
from typing import Any, TypeVar

from ..event_loop import EventLoop

Result = TypeVar("Result")


class MainThread(EventLoop):
    """Runs its loop in place, and leaves it for as long as a plain function runs."""

    is_of_main_thread = True

    def __init__(self) -> None:
        super().__init__()
        self._is_ended = False
        self._waiting: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()

    def run_in_place(self, begin: Callable[[], None]) -> None:
        """Runs on this thread until `stop`. `begin` starts the threads that call things on it."""
        super().run_in_place(begin)
        while not self._is_ended:
            self._run_waiting()
            asyncio.set_event_loop(self._loop)  # asyncio.run() of a function takes it away
            self._loop.run_forever()

    def run(self, act: Callable[[], Result], context: contextvars.Context | None = None) -> Result:
        """Runs `act` outside the loop; returns or raises what it does. For other threads."""
        outcome: concurrent.futures.Future[Result] = concurrent.futures.Future()
        context = context or contextvars.copy_context()

        def finish() -> None:
            try:
                outcome.set_result(context.run(act))
            except BaseException as error:  # also SystemExit, which would end the worker
                outcome.set_exception(error)

        self._waiting.put(finish)
        self._loop.call_soon_threadsafe(self._loop.stop)
        return outcome.result()

    def complete(self, awaitable: Any) -> Any:
        """Awaits something on the loop. For other threads."""
        return self.call(awaitable).result()

    def stop(self) -> None:
        self._is_ended = True
        super().stop()

    def _run_waiting(self) -> None:
        while not self._waiting.empty():
            self._waiting.get()()
