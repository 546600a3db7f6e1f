"""
The code that a live worker runs.

L1  One version is loaded at a time; another one replaces it, and running calls continue with the one they started with.
L2  What did not change stays: the same files with the same needs are loaded once, and so is the object of a class.
L3  A load that failed is tried again by the next call.
"""

from __future__ import annotations

import gc
import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .. import log
from ..failures import StartError
from ..handler import QueueHandler
from ..loading import load_declarations
from ..server.routes import Routes
from ..server.worker import load_routes
from . import imports
from .application import LiveApplication
from .log_handlers import LogHandlers
from .module_sets import ModuleSets, name_of
from .outcomes import MissingModules, NotLoaded, not_loaded
from .packages import Packages, WorkerSpent
from .request import LiveRequest
from .sources import Sources

Loaded = TypeVar("Loaded", QueueHandler, Routes)

# Runs what imports the user's code, on the thread where that belongs.
Place = Callable[[Callable[[], Any]], Any]


@dataclass(frozen=True)
class Version(Generic[Loaded]):
    """The loaded code, and the request that it was loaded for."""

    key: str
    application: LiveApplication
    loaded: Loaded


class LiveCode:
    """Loads the code of calls. For any thread."""

    def __init__(
        self, application: LiveApplication, sources: Sources, packages: Packages, place: Place
    ) -> None:
        self._application = application
        self._sources = sources
        self._sets = ModuleSets(application.sets, sources)
        self._packages = packages
        self._place = place
        self._lock = threading.Lock()
        self._version: Version[Any] | None = None
        self._log_handlers = LogHandlers()

    def handler(self, request: LiveRequest) -> Version[QueueHandler]:
        """The function or object that a job calls. Raises Refused, MissingModules, NotLoaded."""
        arguments = [request.constructor_args, request.constructor_kwargs]
        return self._load(request, arguments, lambda application: _load_handler(application, request))

    def routes(self, request: LiveRequest) -> Version[Routes]:
        """The routes that a request may be for. Raises Refused, MissingModules, NotLoaded."""
        return self._load(request, [dict(one) for one in request.routes], load_routes)

    def _load(
        self, request: LiveRequest, details: Any, load: Callable[[LiveApplication], Loaded]
    ) -> Version[Loaded]:
        self._sources.keep(request.sources)
        missing = self._sources.missing(request.sha256s)
        if missing:
            raise MissingModules(missing)
        key = _key_of(request, details)
        with self._lock:
            if self._version is None or self._version.key != key:
                try:
                    self._replace(request, key, load)
                except WorkerSpent as spent:  # the next process has no sources
                    raise MissingModules(request.sha256s, str(spent)) from None
                except OSError as error:
                    raise NotLoaded(f"The worker cannot write the files that the code needs: {error}") from None
            assert self._version is not None
            return self._version

    def _replace(self, request: LiveRequest, key: str, load: Callable[[LiveApplication], Loaded]) -> None:
        self._packages.provide(request.code)
        application = self._application.of(request, self._sets.lay_out(request.code.modules))
        started = time.monotonic()
        self._unload()
        self._log_handlers = LogHandlers()
        imports.put_first(application.directory)
        try:
            loaded = self._place(lambda: load(application))
        except StartError as error:
            self._take_out(application)
            raise not_loaded(error, application) from None
        self._version = Version(key, application, loaded)
        seconds = time.monotonic() - started
        count = len(request.code.modules)
        files = "1 file" if count == 1 else f"{count} files"
        log.say(f"Loaded the code as it is now: {files}, {seconds:.2f} s.")

    def _unload(self) -> None:
        """Frees resources of the previous version, such as a model on a GPU, before the next one needs the memory (L1)."""
        if self._version is not None:
            self._take_out(self._version.application)
            self._version = None
            gc.collect()

    def _take_out(self, application: LiveApplication) -> None:
        imports.leave_out(application.directory)
        imports.forget(application.directory)
        self._log_handlers.remove_later()


def _key_of(request: LiveRequest, details: Any) -> str:
    code = request.code
    return json.dumps(
        [
            *(name_of(code.modules), code.module, code.execution_type, code.target_name, details),
            *(code.dependencies, code.system_dependencies),
        ],
        sort_keys=True,
    )


def _load_handler(application: LiveApplication, request: LiveRequest) -> QueueHandler:
    declared = load_declarations(application)
    target = declared.target if declared is not None else None
    if target is None:
        raise StartError(
            f"The module {request.code.module!r} declares no function or class of the endpoint {application.name!r}. "
            f"Fix it and {application.again}."
        )
    arguments, named = request.constructor_args, request.constructor_kwargs
    return QueueHandler(application, target, lambda: target(*arguments, **named))
