"""Apps whose manifest lists their resources, as clients of the next major version pack them."""

import json

import pytest

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
