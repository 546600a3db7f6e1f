"""A worker of a load-balanced endpoint: its routes behind an HTTP server on PORT, its health on PORT_HEALTH."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping

from .. import log
from ..application import Application
from ..failures import StartError
from ..loading import load_declarations, load_function
from ..signals import ENDING, spare_children
from .answer import Answer, detail_answer
from .connection import Connection
from .message import HEAD_MAX_BYTES, Request
from .routes import Routes, make_route
from .service import HEALTH_PATH, Service

_PORT_DEFAULT = 80
_BACKLOG = 1_024


def serve(application: Application, environment: Mapping[str, str]) -> None:
    """Serves until SIGTERM, and then to the end of the requests that run. Raises StartError."""
    ports_of(environment)  # before the user's code takes its time
    service = Service(load_routes(application), application, health_path=health_path(environment))
    serve_service(service, environment)


def serve_service(service: Service, environment: Mapping[str, str]) -> None:
    """Serves what a service answers. Raises StartError."""
    asyncio.run(_serve(Server(service), *ports_of(environment)))


def health_path(environment: Mapping[str, str]) -> str:
    """The path of the agent's health checks."""
    return environment.get("HEALTH_CHECK_PATH") or HEALTH_PATH


def ports_of(environment: Mapping[str, str]) -> tuple[int, int]:
    """That of requests, and that of health."""
    port = _port(environment, "PORT", _PORT_DEFAULT)
    return port, _port(environment, "PORT_HEALTH", port)


def load_routes(application: Application) -> Routes:
    """Imports the functions of the endpoint's routes. Raises StartError."""
    declared = load_declarations(application)
    functions = {(one.method, one.path): one.function for one in (declared.routes if declared else [])}
    described = {(one.get("http_method"), one.get("http_path")): one for one in application.functions}
    routes = []
    for key, name in application.routes.items():
        method, _, path = key.partition(" ")
        function = functions.get((method, path))
        if function is None:
            function = load_function(application, described.get((method, path), {"name": name}))
        routes.append(make_route(method, path, function))
    if not routes:
        raise StartError(f"The manifest has no routes for {application.name!r}. Run `flash deploy` again.")
    return Routes(routes)


def _port(environment: Mapping[str, str], name: str, default: int) -> int:
    text = environment.get(name) or str(default)
    if not text.isdecimal() or not 0 < int(text) < 65_536:
        raise StartError(f"{name} is {text!r}; it must be a port from 1 to 65535.")
    return int(text)


async def _serve(server: Server, port: int, health_port: int) -> None:
    ending = asyncio.Event()
    for number in ENDING:
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    spare_children()
    if health_port != port:
        await server.listen(health_port, only_health=True)
    await server.listen(port)
    log.say(f"Takes requests on port {port}.")
    await ending.wait()
    log.say("Ends: no more requests are taken.")
    await server.end()


class Server:
    """Listens, and knows the connections that are open."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._listeners: list[asyncio.Server] = []
        self._connections: dict[asyncio.Task[None], Connection] = {}

    async def listen(self, port: int, *, host: str = "0.0.0.0", only_health: bool = False) -> int:
        """Port 0 lets the system choose; returns the port. Raises StartError when it is taken."""
        respond = self._answer_health if only_health else self._service.answer

        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await self._keep(Connection(reader, writer, respond, self._service.note))

        try:
            listener = await asyncio.start_server(serve, host, port, limit=HEAD_MAX_BYTES, backlog=_BACKLOG)
        except OSError as error:
            why = os.strerror(error.errno) if error.errno else str(error)
            raise StartError(f"Port {port} cannot be listened on: {why}.") from None
        self._listeners.append(listener)
        return int(listener.sockets[0].getsockname()[1])

    async def end(self) -> None:
        """Stops accepting connections, and waits for the running requests."""
        for listener in self._listeners:
            listener.close()
        for connection in self._connections.values():
            connection.end()
        if self._connections:
            await asyncio.wait(list(self._connections))

    async def _keep(self, connection: Connection) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._connections[task] = connection
        try:
            await connection.serve()
        finally:
            del self._connections[task]

    async def _answer_health(self, request: Request) -> Answer:
        return self._service.answer_of_health(request) or detail_answer(404, "Not Found")
