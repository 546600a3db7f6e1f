"""
An API of an app whose manifest lists its resources: a class whose methods are marked as routes, or a function that
makes an ASGI application. Its client packs FastAPI and uvicorn with the app.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import inspect
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from . import log
from .application import Application
from .failures import StartError
from .loading import explained, load_function, start_error
from .server.service import HEALTH_PATH
from .server.worker import health_path, ports_of
from .signals import ENDING, spare_children

# Set on the method that runs once before the first request.
_INIT_MARK = "__runpod_init__"
_BACKLOG = 1_024

Asgi = Callable[[Mapping[str, Any], Callable[..., Any], Callable[..., Any]], Awaitable[None]]


def serve_api(application: Application, environment: Mapping[str, str]) -> None:
    """Serves until SIGTERM, and then to the end of the requests that run. Raises StartError."""
    listeners = [_listener(port) for port in dict.fromkeys(ports_of(environment))]
    described = application.functions[0] if application.functions else {}
    target: Any = load_function(application, described)
    made = explained(application, target, f"{described.get('name')}()")
    is_class = inspect.isclass(target)
    asgi = _routed(application, made) if is_class else made
    uvicorn: Any = _imported(application, "uvicorn")
    config = uvicorn.Config(
        _with_health(asgi, {HEALTH_PATH, health_path(environment)}),
        access_log=False,
        log_config=None,
        log_level="warning",
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # it would end the process by the signal
    asyncio.run(_serve(server, listeners, lambda: _prepare(application, made if is_class else None)))


async def _serve(server: Any, listeners: list[socket.socket], prepare: Callable[[], Awaitable[None]]) -> None:
    def end() -> None:
        server.should_exit = True

    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, end)
    spare_children()
    await prepare()
    for listener in listeners:
        listener.listen(_BACKLOG)
    log.say(f"Takes requests on port {listeners[0].getsockname()[1]}.")
    await server.serve(sockets=listeners)
    if not server.started:
        raise StartError("The application has failed to start: its lines above say why.")


def _listener(port: int) -> socket.socket:
    """Bound; connections are refused until the server listens."""
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("0.0.0.0", port))
    except OSError as error:
        why = os.strerror(error.errno) if error.errno else str(error)
        raise StartError(f"Port {port} cannot be listened on: {why}.") from None
    return listener


def _imported(application: Application, package: str) -> Any:
    return explained(application, lambda: importlib.import_module(package), f"the import of {package}")


def _routed(application: Application, made: object) -> Asgi:
    """The routes of the manifest, each a method of the object."""
    fastapi = _imported(application, "fastapi")

    def build() -> Asgi:
        api = fastapi.FastAPI(title=application.name)
        for key, method in application.routes.items():
            verb, _, path = key.partition(" ")
            function = getattr(made, method, None)
            if not callable(function):
                raise StartError(
                    f"The class {type(made).__name__} has no method {method!r} for {key}: fix it and "
                    f"{application.again}."
                )
            api.add_api_route(path, function, methods=[verb])
        asgi: Asgi = api
        return asgi

    return explained(application, build, "one of its routes")


async def _prepare(application: Application, made: object) -> None:
    """Runs the marked method of the object of a class."""
    for name, method in inspect.getmembers(made, inspect.ismethod):
        if getattr(method, _INIT_MARK, False) is not True:
            continue
        try:
            result = method()
            if inspect.isawaitable(result):
                await result
        except (Exception, SystemExit) as error:
            raise start_error(application, error, f"the method {name!r}") from None


def _with_health(asgi: Asgi, paths: set[str]) -> Asgi:
    async def answer(
        scope: Mapping[str, Any], receive: Callable[..., Any], send: Callable[..., Any]
    ) -> None:
        is_health = scope["type"] == "http" and scope["path"] in paths and scope["method"] in ("GET", "HEAD")
        if not is_health:
            await asgi(scope, receive, send)
            return
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"status":"healthy"}'})

    return answer
