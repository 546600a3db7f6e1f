"""Workers as they are: processes that run edgerun.runtime on the files of an app."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import random
import signal
import socket
import textwrap
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nursery import ForkedWorker

SOURCES = Path(__file__).resolve().parents[2] / "src"
WAIT_S = 30.0


class App:
    """Files of a deployed app, as a build leaves them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifest: dict[str, Any] = {
            "version": "1.0",
            "project_name": "app",
            "resources": {},
            "routes": {},
        }

    def write(self, path: str, text: str) -> Path:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def queue(self, name: str, function: str, module: str = "main", **resource: Any) -> None:
        """A queue-based endpoint of a function in a module."""
        self.manifest["resources"][name] = {
            "is_load_balanced": False,
            "functions": [{"name": function, "module": module}],
            "handler_file": f"handler_{name}.py",
            **resource,
        }
        self.write(
            f"handler_{name}.py",
            f'from edgerun.runtime import queue_handler\n\nhandler = queue_handler("{name}")\n',
        )

    def balanced(self, name: str, routes: dict[str, str], module: str = "main", **resource: Any) -> None:
        """A load-balanced endpoint; routes are "<METHOD> <path>" to function."""
        functions = []
        for key, function in routes.items():
            method, _, path = key.partition(" ")
            functions.append({"name": function, "module": module, "http_method": method, "http_path": path})
        self.manifest["resources"][name] = {"is_load_balanced": True, "functions": functions, **resource}
        self.manifest["routes"][name] = routes

    def save(self) -> None:
        self.write("flash_manifest.json", json.dumps(self.manifest))


class Worker:
    """One process; what it prints goes to a file."""

    def __init__(self, app: App, environment: dict[str, str]) -> None:
        app.save()
        self._start(
            app.directory.parent,
            {
                "PYTHONPATH": f"{app.directory}{os.pathsep}{SOURCES}",
                "FLASH_APP_DIRECTORY": str(app.directory),
                **environment,
            },
        )

    def _start(self, directory: Path, environment: dict[str, str]) -> None:
        self._log = directory / "worker.log"
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        self.process = ForkedWorker({**inherited, **environment}, directory, self._log)

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def messages(self) -> str:
        """What it prints, lines of JSON as their message."""
        return "\n".join(_message(line) for line in self.output.splitlines())

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(WAIT_S)

    def close(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(WAIT_S)


class Server(Worker):
    """A load-balanced worker that listens."""

    def __init__(self, app: App, environment: dict[str, str]) -> None:
        self.port = free_port()
        own = {
            "PORT": str(self.port),
            "FLASH_RESOURCE_NAME": "api",
            "FLASH_ENDPOINT_TYPE": "lb",
            "RUNPOD_POD_ID": "w1",
        }
        super().__init__(app, {**own, **environment})
        self._until_it_listens()

    def _until_it_listens(self) -> None:
        deadline = time.monotonic() + WAIT_S
        while self.process.poll() is None and time.monotonic() < deadline:
            # Not whether somebody listens there: that may be another process.
            if f"Takes requests on port {self.port}." in self.messages:
                return
            time.sleep(0.01)
        raise AssertionError(f"The server does not listen: {self.output}")

    def connect(self, port: int | None = None) -> socket.socket:
        return socket.create_connection(("127.0.0.1", port or self.port), WAIT_S)

    def ask(self, method: str, path: str, body: Any = None, port: int | None = None, **headers: str) -> Reply:
        """One request on a connection of its own; a body that is no bytes goes as JSON."""
        connection = http.client.HTTPConnection("127.0.0.1", port or self.port, timeout=WAIT_S)
        try:
            if body is not None and not isinstance(body, bytes):
                body = json.dumps(body).encode()
                headers.setdefault("content_type", "application/json")
            named = {name.replace("_", "-"): value for name, value in headers.items()}
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return Reply(response.status, response.read(), dict(response.headers.items()))
        finally:
            connection.close()

    def send(self, request: bytes) -> bytes:
        """Sends bytes, and then nothing more; answers all that comes back."""
        with self.connect() as peer:
            peer.sendall(request)
            peer.shutdown(socket.SHUT_WR)
            return read_all(peer)


@dataclass
class Reply:
    """What a server answered."""

    status: int
    body: bytes
    headers: dict[str, str]

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def read_all(peer: socket.socket) -> bytes:
    received = b""
    while part := peer.recv(65_536):
        received += part
    return received


def free_port() -> int:
    """Below the ephemeral ports of the system, so that no other program receives this port meanwhile."""
    while True:
        port = random.randrange(20_000, 32_000)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("0.0.0.0", port))
            return port


def _message(line: str) -> str:
    try:
        return str(json.loads(line)["message"])
    except (ValueError, KeyError, TypeError):
        return line
