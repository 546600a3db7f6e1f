from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from scripted_agent import ScriptedAgent  # noqa: E402
from worker_process import App, Server, Worker  # noqa: E402


@pytest.fixture
def agent() -> Iterator[ScriptedAgent]:
    agent = ScriptedAgent()
    yield agent
    agent.close()


@pytest.fixture
def app(tmp_path: Path) -> App:
    return App(tmp_path / "app")


@pytest.fixture
def start(agent: ScriptedAgent, app: App) -> Iterator[Callable[..., Worker]]:
    """Starts a queue worker of an endpoint."""
    started: list[Worker] = []

    def start(name: str, **environment: str) -> Worker:
        kind = {"FLASH_RESOURCE_NAME": name, "FLASH_ENDPOINT_TYPE": "qb"}
        started.append(Worker(app, {**agent.environment, **kind, **environment}))
        return started[-1]

    yield start
    for worker in started:
        worker.close()


@pytest.fixture
def serve(app: App, agent: ScriptedAgent, start: Callable[..., Worker]) -> Callable[..., Worker]:
    """Writes main.py, and starts a worker of its function `work`."""

    def serve(source: str, function: str = "work", **resource: Any) -> Worker:
        app.write("main.py", source)
        app.queue("job", function, **resource)
        return start("job")

    return serve


@pytest.fixture
def listen(app: App) -> Iterator[Callable[..., Server]]:
    """Writes main.py, and starts a server of routes, "<METHOD> <path>" to function."""
    yield from _listening(app)


@pytest.fixture(scope="module")
def listen_for_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Server]]:
    """The same, for servers that all tests of a file ask."""
    yield from _listening(App(tmp_path_factory.mktemp("shared") / "app"))


def _listening(app: App) -> Iterator[Callable[..., Server]]:
    started: list[Server] = []

    def listen(source: str, routes: dict[str, str], **environment: str) -> Server:
        app.write("main.py", source)
        app.balanced("api", routes)
        started.append(Server(app, environment))
        return started[-1]

    yield listen
    for server in started:
        server.close()
