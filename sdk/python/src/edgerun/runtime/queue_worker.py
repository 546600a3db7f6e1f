"""
A worker of a queue-based endpoint.

W1  Each slot is a separate loop: take a job, run it, post its result. It requests a job only when it is free.
W2  Polls report that nothing is in progress only when there is one slot: the agent concludes from it that results of
    earlier jobs are lost, and polls of several slots may overtake each other on their way.
W3  A plain function that runs alone runs on the main thread, and async ones on a loop there: some libraries insist.
W4  After SIGTERM no job is taken; the running ones end and their results are posted.
"""

from __future__ import annotations

import inspect
import os
import signal
import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from . import log
from .agent import Agent, Job
from .application import Application
from .execution import Execution, Handler
from .failures import StartError
from .handler import QueueHandler
from .signals import ENDING, spare_children

if TYPE_CHECKING:
    from .event_loop import EventLoop

_PING_DEFAULT_MS = 10_000
_PING_MIN_MS = 1_000


class QueueWorker:
    """Serves jobs until SIGTERM, `max_concurrency` at a time."""

    def __init__(
        self, handler: Handler, agent: Agent, application: Application, loop: EventLoop | None = None
    ) -> None:
        self._handler = handler
        self._agent = agent
        self._application = application
        self._slots = application.max_concurrency
        self._loop = loop
        self._stopping = threading.Event()
        self._lock = threading.Lock()
        self._running: dict[str, Execution] = {}

    def run(self, environment: Mapping[str, str]) -> None:
        """Returns after SIGTERM, once the running jobs have ended. Raises StartError."""
        is_of_main_thread = self._loop is not None and self._loop.is_of_main_thread
        is_async = is_of_main_thread or _is_async(self._handler)
        if self._slots > 1:
            log.tag_jobs()
        try:
            self._prepare(is_async)
        except StartError:
            if self._loop is not None:
                self._loop.close()  # else it prints a complaint after the last line, which has the reason
            raise
        self._watch_for_end()
        self._start_beside(self._follow_stops, "stops")
        self._start_beside(lambda: self._ping(_ping_interval_s(environment)), "pings")
        if self._slots == 1 and not is_async:
            return self._serve()
        slots = [threading.Thread(target=self._serve, name=f"slot-{number}") for number in range(self._slots)]
        if is_async:
            self._event_loop().run_in_place(lambda: self._begin(slots))
        else:
            self._begin(slots)
        for slot in slots:
            slot.join()

    def end(self) -> None:
        """Stops taking jobs (W4)."""
        log.say("Ends: no more jobs are taken.")
        self._stopping.set()
        self._agent.disconnect()

    def _prepare(self, is_async: bool) -> None:
        handler = self._handler
        if not isinstance(handler, QueueHandler):
            return
        if not is_async:
            return handler.prepare()

        async def prepare() -> None:
            handler.prepare()  # what the constructor makes may need the loop

        self._event_loop().complete(prepare())

    def _event_loop(self) -> EventLoop:
        """Made for the first that needs it: plain functions start sooner without asyncio."""
        with self._lock:
            if self._loop is None:
                from .event_loop import EventLoop

                self._loop = EventLoop()
            return self._loop

    # Slots

    def _serve(self) -> None:
        may_be_busy = self._slots > 1  # W2
        while not self._stopping.is_set():
            for job in self._agent.take(may_be_busy):
                self._work(job)

    def _work(self, job: Job) -> None:
        execution = Execution(job, self._handler, self._agent, self._event_loop, self._application)
        with self._lock:
            self._running[job.id] = execution
        try:
            execution.run()
        finally:
            with self._lock:
                self._running.pop(job.id, None)

    # Beside them

    def _start_beside(self, act: Callable[[], None], name: str) -> None:
        threading.Thread(target=act, name=name, daemon=True).start()

    def _follow_stops(self) -> None:
        while not self._stopping.is_set():
            for job_id in self._agent.stops():
                with self._lock:
                    execution = self._running.get(job_id)
                if execution is not None:
                    log.say("The job is stopped.", job_id=job_id)
                    execution.stop()

    def _ping(self, interval_s: float) -> None:
        while True:
            with self._lock:
                job_ids = list(self._running)
            self._agent.ping(job_ids)
            threading.Event().wait(interval_s)

    def _begin(self, slots: list[threading.Thread]) -> None:
        for slot in slots:
            slot.start()
        self._start_beside(lambda: self._stop_loop_after(slots), "loop-end")

    def _stop_loop_after(self, slots: list[threading.Thread]) -> None:
        for slot in slots:
            slot.join()
        self._event_loop().stop()

    def _watch_for_end(self) -> None:
        reading, writing = os.pipe()
        os.set_blocking(writing, False)

        def wait_for_end() -> None:
            while not any(number in ENDING for number in os.read(reading, 64)):
                pass  # a signal that the app has taken an interest in
            self.end()

        self._start_beside(wait_for_end, "end")
        # Written to at once; Python's own handler waits for the main thread, which may be about to wait for something.
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        for number in ENDING:
            # Locks must not be taken here: the interrupted code may hold them.
            signal.signal(number, lambda number, _: os.write(writing, bytes([number])))
        spare_children()


def _is_async(handler: Handler) -> bool:
    if isinstance(handler, QueueHandler):
        return handler.is_async
    return inspect.iscoroutinefunction(handler) or inspect.isasyncgenfunction(handler)


def _ping_interval_s(environment: Mapping[str, str]) -> float:
    try:
        interval_ms = int(environment.get("RUNPOD_PING_INTERVAL", _PING_DEFAULT_MS))
    except ValueError:
        interval_ms = _PING_DEFAULT_MS
    return max(interval_ms, _PING_MIN_MS) / 1_000
