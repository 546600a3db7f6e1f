"""Calls that bring the source of their function, as `runpod-flash` sends them to its live endpoints."""

import asyncio
import base64
import os
import pickle
from pathlib import Path

import pytest

from edgerun.runtime.application import Application
from edgerun.runtime.failures import JobFailure
from edgerun.runtime.live.packages import Packages
from edgerun.runtime.server.message import Request
from edgerun.runtime.source_calls import SourceCalls, _CallService, client_packages


@pytest.fixture
def calls(tmp_path: Path) -> SourceCalls:
    return SourceCalls(Packages(os.environ), tmp_path)


def pickled(value):
    return base64.b64encode(pickle.dumps(value)).decode()


def value_of(response):
    return pickle.loads(base64.b64decode(response["result"]))


def function(source, name, *args, **more):
    return {"function_name": name, "function_code": source, "args": [pickled(one) for one in args], **more}


def test_a_function_gets_its_arguments_and_its_output_is_shown(calls):
    source = "def add(a, b=1):\n    print('adds')\n    return a + b"
    call = function(source, "add", 2, kwargs={"b": pickled(40)})
    response = calls.run_job({"id": "j", "input": call})
    assert value_of(response) == 42
    assert response["stdout"] == "adds\n"


def test_coroutines_are_awaited_and_plain_values_stay_plain(calls):
    source = "async def double(x):\n    return {'twice': 2 * x}"
    call = function(source, "double", serialization_format="json") | {"args": [21]}
    assert calls.run(call) == {"success": True, "json_result": {"twice": 42}}


def test_an_object_stays_for_the_calls_of_its_instance(calls):
    source = "class Counter:\n    def __init__(self, start):\n        self.n = start\n    def up(self):\n        self.n += 1\n        return self.n"
    call = {
        **{"execution_type": "class", "class_name": "Counter", "class_code": source, "method_name": "up"},
        **{"constructor_args": [pickled(10)], "instance_id": "one"},
    }
    assert [value_of(calls.run(call)) for _ in range(2)] == [11, 12]
    assert value_of(calls.run({**call, "instance_id": "two"})) == 11


def test_local_modules_come_with_the_call(calls):
    source = "def shout(word):\n    from helpers.text import loud\n    return loud(word)"
    modules = {"helpers/__init__.py": "", "helpers/text.py": "def loud(word):\n    return word.upper()"}
    assert value_of(calls.run(function(source, "shout", "hi", modules=modules))) == "HI"
    changed = {**modules, "helpers/text.py": "def loud(word):\n    return word + '!'"}
    assert value_of(calls.run(function(source, "shout", "hi", modules=changed))) == "hi!"


def test_the_client_is_installed_where_a_whole_module_imports_it(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    assert client_packages("x = 1\nimport runpod\napp = runpod.App('a')") == ("runpod>=2.0.0rc1",)
    assert client_packages("def f():\n    from runpod.apps import App") == ("runpod>=2.0.0rc1",)
    assert client_packages("from runpod_flash import Endpoint\nname = 'import runpod'") == ()


def test_a_handle_stands_for_its_function_and_a_decorator_of_the_user_stays(calls):
    source = """
import functools

def doubled(function):
    @functools.wraps(function)
    def call(x):
        return 2 * function(x)
    return call

class Handle:
    def __init__(self, function):
        self.__wrapped__ = function

@Handle
@doubled
def handled(x):
    return x

@doubled
def plain(x):
    return x
"""
    assert value_of(calls.run(function(source, "handled", 3))) == 6
    assert value_of(calls.run(function(source, "plain", 3))) == 6


def test_a_failing_function_fails_the_job_with_its_traceback(calls):
    call = function("def bad():\n    raise ValueError('no such thing')", "bad")
    with pytest.raises(JobFailure) as failure:
        calls.run_job({"id": "j", "input": call})
    assert "line 2, in bad" in failure.value.error
    assert "ValueError: no such thing" in failure.value.error
    assert "source_calls" not in failure.value.error


@pytest.mark.parametrize(
    "call",
    [
        None,
        {},
        {"function_name": "f"},
        function("def f(): pass", "g"),
        function("def f(): pass", "f", modules={"../f.py": ""}),
        function("def f(x): pass", "f") | {"args": ["no pickle!"]},
        function("def f(): pass", "f", dependencies="numpy"),
    ],
)
def test_a_call_that_cannot_be_read_is_refused_without_a_traceback(calls, call):
    response = calls.run(call)
    assert response["success"] is False
    assert "Traceback" not in response["error"]


def test_a_load_balanced_endpoint_takes_calls_at_one_address(calls, tmp_path):
    application = Application("live", tmp_path, {"is_load_balanced": True}, {}, frozenset())
    service = _CallService(calls, application, {})

    def answer(method, path, body=b""):
        return asyncio.run(service.answer(Request(method, path, "", {}, False, body)))

    call = b'{"function_name": "f", "function_code": "def f():\\n    return 7", "serialization_format": "json"}'
    assert b'"json_result":7' in answer("POST", "/execute", call).body.replace(b": ", b":")
    assert answer("GET", "/ping").status == 200
    assert answer("GET", "/other").status == 404
    assert answer("POST", "/execute", b"{").status == 400
