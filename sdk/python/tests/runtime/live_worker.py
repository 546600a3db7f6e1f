"""Live workers as processes, and the requests that `flash dev` sends them."""

from __future__ import annotations

import base64
import hashlib
import json
import textwrap
from pathlib import Path
from typing import Any

from worker_process import SOURCES, Reply, Server, Worker, free_port

TOKEN = "live-token-of-this-worker"


def sha256_of(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


class Project:
    """Files as they are on the user's computer."""

    def __init__(self, **files: str) -> None:
        self.files: dict[str, str] = {}
        for name, text in files.items():
            self.write(f"{name}.py", text)

    def write(self, path: str, text: str) -> None:
        self.files[path] = textwrap.dedent(text).lstrip("\n")

    @property
    def modules(self) -> dict[str, str]:
        return {path: sha256_of(text) for path, text in self.files.items()}

    @property
    def sources(self) -> dict[str, str]:
        return {sha256_of(text): text for text in self.files.values()}

    def code(self, **members: Any) -> dict[str, Any]:
        return {
            "execution_type": "function",
            "module": "main",
            "modules": self.modules,
            "dependencies": [],
            "system_dependencies": [],
            "accelerate_downloads": True,
            **members,
        }

    def request(self, name: str = "work", /, **members: Any) -> dict[str, Any]:
        """A call of a function, with all texts."""
        code = self.code(function_name=name)
        return {"protocol": 1, **code, "sources": self.sources, "peers": {}, **members}

    def call_of_class(self, name: str, method: str | None = None, **members: Any) -> dict[str, Any]:
        named = {} if method is None else {"method_name": method}
        return self.request(execution_type="class", class_name=name, **named, **members)

    def route(
        self,
        routes: dict[str, str],
        method: str,
        path: str,
        body: bytes = b"",
        query: str = "",
        **members: Any,
    ) -> dict[str, Any]:
        """A request for one of the routes, "<METHOD> <path>" to function."""
        return self.request(
            execution_type="route",
            routes=[
                {
                    "method": key.split(" ")[0],
                    "path": key.split(" ")[1],
                    "module": "main",
                    "function_name": function,
                }
                for key, function in routes.items()
            ],
            http={
                "method": method,
                "path": path,
                "query": query,
                "headers": [["Host", "localhost:8888"], ["Content-Type", "application/json"]],
                "body_base64": base64.b64encode(body).decode(),
            },
            **members,
        )


class LiveWorker(Worker):
    """A live worker of the endpoint `job`; it has no app of its own."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        own = {
            "PYTHONPATH": str(SOURCES),
            "FLASH_LIVE": "true",
            "FLASH_LIVE_TOKEN": TOKEN,
            "FLASH_RESOURCE_NAME": "job",
            "FLASH_ENDPOINT_TYPE": "qb",
            "FLASH_WORKER_INSTALL_DIR": str(directory / "installed"),
            "TMPDIR": str(directory),
        }
        self._start(directory, {**own, **environment})


class LiveServer(Server):
    """A live worker of the load-balanced endpoint `api`."""

    def __init__(self, directory: Path, environment: dict[str, str]) -> None:
        self.port = free_port()
        own = {
            "PYTHONPATH": str(SOURCES),
            "PORT": str(self.port),
            "FLASH_LIVE": "true",
            "FLASH_LIVE_TOKEN": TOKEN,
            "FLASH_RESOURCE_NAME": "api",
            "FLASH_ENDPOINT_TYPE": "lb",
            "FLASH_WORKER_INSTALL_DIR": str(directory / "installed"),
            "RUNPOD_POD_ID": "w1",
            "TMPDIR": str(directory),
        }
        self._start(directory, {**own, **environment})
        self._until_it_listens()

    def execute(self, request: Any, token: str = TOKEN) -> Reply:
        return self.ask("POST", "/execute", request, x_flash_live_token=token)


def outcome_of(result: dict[str, Any]) -> dict[str, Any]:
    """What the error of a job says, as JSON."""
    assert set(result) == {"error"}, result
    described: dict[str, Any] = json.loads(result["error"])
    return described
