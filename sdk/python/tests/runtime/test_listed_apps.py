"""Apps whose manifest lists their resources, as clients of the next major version pack them."""

import json

import pytest
from worker_process import App, Server, Worker

from edgerun.runtime.application import read_application
from edgerun.runtime.handler import QueueHandler
from edgerun.runtime.loading import load_function, prepare_imports

MODULE = """
import functools
from packaged_tool import shout


class Handle:
    def __init__(self, function):
        functools.update_wrapper(self, function)

    def __call__(self, *args):
        raise RuntimeError("not here")


@Handle
def hello(name, times=1):
    return shout(name) * times
"""


@pytest.fixture
def directory(tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", ["/nowhere", *__import__("sys").path])
    resources = [
        {"kind": "queue", "name": "hello", "module": "listed_main", "qualname": "hello", "maxConcurrency": 2},
        {"kind": "api", "name": "web", "module": "listed_main", "qualname": "Web"},
    ]
    (tmp_path / "runpod_manifest.json").write_text(json.dumps({"version": 1, "resources": resources}))
    (tmp_path / "listed_main.py").write_text(MODULE)
    (tmp_path / "env").mkdir()
    (tmp_path / "env" / "packaged_tool.py").write_text("def shout(word):\n    return word.upper()\n")
    return tmp_path


def test_a_queue_runs_the_decorated_function_with_the_packages_of_the_app(directory):
    environment = {"FLASH_APP_DIRECTORY": str(directory), "FLASH_RESOURCE_NAME": "hello", "FLASH_ENDPOINT_TYPE": "qb"}
    application = read_application(environment)
    assert (application.max_concurrency, application.is_load_balanced) == (2, False)
    prepare_imports(application)
    handler = QueueHandler(application, load_function(application, application.functions[0]))
    assert handler({"id": "j", "input": {"name": "you", "times": 2}}) == "YOUYOU"


def test_an_api_is_told_from_a_queue(directory):
    environment = {"FLASH_APP_DIRECTORY": str(directory), "FLASH_RESOURCE_NAME": "web", "FLASH_ENDPOINT_TYPE": "lb"}
    assert read_application(environment).is_load_balanced


WEB = """
import asyncio


class Handle:
    def __init__(self, target):
        self.__wrapped__ = target


def init(method):
    method.__runpod_init__ = True
    return method


@Handle
class Web:
    @init
    async def load(self):
        self.loop = asyncio.get_running_loop()
        self.calls = 0

    async def count(self):
        assert asyncio.get_running_loop() is self.loop
        self.calls += 1
        return {"calls": self.calls}

    def generate(self, body: dict):
        return {"got": body}

    def item(self, item_id: int, full: bool = False):
        return [item_id, full]


@Handle
class Broken:
    @init
    def load(self):
        raise LookupError("no weights")

    def count(self):
        return 1


@Handle
def make_application():
    async def application(scope, receive, send):
        assert scope["type"] == "http", "no lifespan"
        await send({"type": "http.response.start", "status": 201, "headers": []})
        await send({"type": "http.response.body", "body": scope["path"].encode()})

    return application
"""
ROUTES = [
    {"method": "GET", "path": "/count", "handler": "count"},
    {"method": "POST", "path": "/generate", "handler": "generate"},
    {"method": "GET", "path": "/items/{item_id}", "handler": "item"},
]


class ListedApp(App):
    """An app with one API, whose manifest lists it."""

    def __init__(self, directory, qualname, routes):
        super().__init__(directory)
        api = {"kind": "api", "name": "api", "module": "main", "qualname": qualname, "routes": routes}
        self.write("main.py", WEB)
        self.write("runpod_manifest.json", json.dumps({"version": 1, "resources": [api]}))

    def save(self):
        """It has no other manifest."""


def test_an_api_serves_the_methods_of_one_prepared_instance(tmp_path):
    server = Server(ListedApp(tmp_path / "app", "Web", ROUTES), {})
    try:
        assert [json.loads(server.ask("GET", "/count").body)["calls"] for _ in range(2)] == [1, 2]
        assert json.loads(server.ask("POST", "/generate", {"prompt": "a"}).body) == {"got": {"prompt": "a"}}
        assert json.loads(server.ask("GET", "/items/7?full=true").body) == [7, True]
        assert server.ask("GET", "/load").status == 404
        assert server.ask("GET", "/ping").status == 200
    finally:
        server.close()


def test_an_api_serves_the_application_that_a_function_makes(tmp_path):
    server = Server(ListedApp(tmp_path / "app", "make_application", []), {})
    try:
        reply = server.ask("GET", "/any/path")
        assert (reply.status, reply.body) == (201, b"/any/path")
        assert server.ask("GET", "/ping").json == {"status": "healthy"}
        server.terminate()
        assert server.wait() == 0
    finally:
        server.close()


@pytest.mark.parametrize(
    ("qualname", "routes", "said"),
    [
        ("Broken", ROUTES[:1], "the method 'load' raises LookupError: no weights at main.py"),
        ("Web", [{"method": "GET", "path": "/gone", "handler": "gone"}], "no method 'gone' for GET /gone"),
        ("nothing", [], "no function 'nothing'"),
    ],
)
def test_an_api_that_cannot_be_served_says_why(tmp_path, qualname, routes, said):
    kind = {"FLASH_RESOURCE_NAME": "api", "FLASH_ENDPOINT_TYPE": "lb", "PORT": "80"}
    worker = Worker(ListedApp(tmp_path / "app", qualname, routes), kind)
    try:
        assert worker.wait() == 1
        assert said in worker.messages.splitlines()[-1]
    finally:
        worker.close()
