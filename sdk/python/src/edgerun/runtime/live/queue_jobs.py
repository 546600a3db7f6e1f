"""Jobs of a live worker: each one names the code that it is for."""

from __future__ import annotations

import contextvars
import inspect
from collections.abc import Callable, Generator, Mapping
from typing import Any

from ... import live_peers
from ..failures import InputError, JobFailure, StartError
from ..handler import QueueHandler
from .application import LiveApplication
from .code import LiveCode, Version
from .main_thread import MainThread
from .outcomes import MissingModules, NotLoaded, not_loaded
from .request import LiveRequest, Refused, read_request
from .sources import Sources

_END = object()


class LiveHandler:
    """Calls the function that a job names, in the code that it has sent along."""

    def __init__(
        self, application: LiveApplication, code: LiveCode, sources: Sources, main: MainThread
    ) -> None:
        self._runs_alone = application.max_concurrency == 1
        self._name = application.name
        self._code = code
        self._sources = sources
        self._main = main

    def __call__(self, job: Mapping[str, Any]) -> Any:
        """Begins a job. Raises InputError or JobFailure when nothing is run, and whatever the function raises."""
        try:
            return self._begin(self._call_for(read_request(job.get("input"))))
        except Refused as error:
            raise InputError(str(error)) from None
        except MissingModules as missing:
            raise JobFailure(missing.as_json) from None
        except NotLoaded as error:
            raise JobFailure(error.as_json) from None

    def _call_for(self, request: LiveRequest) -> Callable[[], Any]:
        if request.code.execution_type == "route":
            raise Refused("A route is called by HTTP, and this endpoint has a queue.")
        version = self._code.handler(request)
        live_peers.use(peers_of(request, self._name, self._sources))
        self._prepare(version)
        values = {
            key: value for key, value in request.kwargs.items() if key != "__empty" or value is not True
        }
        return version.loaded.call_for(request.args, values, request.method_name)

    def _prepare(self, version: Version[QueueHandler]) -> None:
        handler = version.loaded

        async def prepare() -> None:
            handler.prepare()  # what the constructor makes may need the loop

        try:
            self._main.complete(prepare()) if handler.is_async else self._main.run(handler.prepare)
        except StartError as error:
            raise not_loaded(error, version.application) from None

    def _begin(self, call: Callable[[], Any]) -> Any:
        """A plain function that runs alone runs on the main thread, as in any worker."""
        if not self._runs_alone or inspect.iscoroutinefunction(call) or inspect.isasyncgenfunction(call):
            return call()
        context = contextvars.copy_context()
        result = self._main.run(call, context)
        return self._step_by_step(result, context) if inspect.isgenerator(result) else result

    def _step_by_step(
        self, generator: Generator[Any, Any, Any], context: contextvars.Context
    ) -> Generator[Any, None, None]:
        try:
            while (value := self._main.run(lambda: next(generator, _END), context)) is not _END:
                yield value
        finally:
            self._main.run(generator.close, context)


def peers_of(request: LiveRequest, name: str, sources: Sources) -> live_peers.LivePeers:
    """What the code of this call needs to call other endpoints, which may call this one in turn."""
    return live_peers.LivePeers({**request.peers, name: request.own_peer}, sources.texts)
