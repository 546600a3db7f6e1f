"""Calls of a route's function in workers of other endpoints."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import inspect
import json
from typing import Any

import pytest
from edge import Answer, Edge, Seen

from edgerun import (
    CallTimeoutError,
    Endpoint,
    EndpointNotFoundError,
    HttpError,
    RemoteExecutionError,
    SerializationError,
    live_call,
    live_peers,
)
from edgerun.live_peers import LivePeers

TEXT = "X = 1\n"
SHA256 = hashlib.sha256(TEXT.encode()).hexdigest()


@pytest.fixture
def worker(monkeypatch: pytest.MonkeyPatch, edge: Edge, app: None) -> Edge:
    """A worker of the endpoint `caller`, whose environment has the routes of `api` at ep1."""
    monkeypatch.setenv("RUNPOD_ENDPOINT_ID", "ep0")
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "caller")
    monkeypatch.setenv("FLASH_ENVIRONMENT_ID", "env1")

    def answer(document: str, variables: dict[str, Any]) -> Any:
        if "flashEnvironment(" in document:
            return {"flashEnvironment": {"activeBuildId": "b1"}}
        addresses = {"api": "https://edge.example/lb/ep1"}
        return {"flashBuild": {"manifest": {"resources_endpoints": addresses}}}

    edge.graphql(answer)
    return edge


class Api:
    """The module of a load-balanced endpoint, as its importers find it."""

    def __init__(self, name: str = "api") -> None:
        api = Endpoint(name=name, cpu="cpu3c-1-2")

        @api.post("/process")
        async def process(input_data: dict[str, Any], times: int = 1) -> dict[str, Any]:
            """Works."""
            return {"local": input_data}

        @api.get("/items/{item_id}/parts/{part}")
        async def read(item_id: int, part: str, tags: list[str] | None = None, deep: bool = False) -> str:
            return "local"

        @api.get("/plain")
        def plain(word: str = "a") -> str:
            return f"local {word}"

        @api.get("/events")
        async def events() -> Any:
            yield 1

        self.process, self.read, self.plain, self.events = process, read, plain, events


def sent(edge: Edge, operation: str) -> Seen:
    (seen,) = edge.seen(operation)
    return seen


def test_in_a_worker_of_another_endpoint_a_call_is_a_request_to_the_route(worker: Edge) -> None:
    worker.on("POST /lb/ep1/process", {"remote": 1})
    assert asyncio.run(Api().process({"a": [1, None]}, times=2)) == {"remote": 1}
    seen = sent(worker, "POST /lb/ep1/process")
    assert seen.body == {"input_data": {"a": [1, None]}, "times": 2}
    assert seen.headers["authorization"] == "Bearer er_test"
    assert "x-flash-app" not in seen.headers


def test_path_and_query_carry_their_parameters(worker: Edge) -> None:
    worker.on("GET /lb/ep1/items/7/parts/a%2Fb%20%C3%A9", {"n": 1})
    assert asyncio.run(Api().read(7, "a/b é", tags=["x", "y"], deep=True)) == {"n": 1}
    seen = sent(worker, "GET /lb/ep1/items/7/parts/a%2Fb%20%C3%A9")
    assert (seen.query, seen.body) == ({"tags": "y", "deep": "true"}, None)


def test_the_function_keeps_its_kind_and_what_it_says_of_itself(worker: Edge) -> None:
    api = Api()
    assert inspect.iscoroutinefunction(api.process) and api.process.__doc__ == "Works."
    assert list(inspect.signature(api.process).parameters) == ["input_data", "times"]
    worker.on("GET /lb/ep1/plain", "remote")
    assert api.plain("b") == "remote"
    assert sent(worker, "GET /lb/ep1/plain").query == {"word": "b"}


@pytest.mark.parametrize("resource", ["api", "live-api", None])
def test_in_its_own_endpoint_and_outside_of_workers_it_runs_where_it_is_called(
    worker: Edge, monkeypatch: pytest.MonkeyPatch, resource: str | None
) -> None:
    if resource is None:
        monkeypatch.delenv("RUNPOD_ENDPOINT_ID")
    else:
        monkeypatch.setenv("FLASH_RESOURCE_NAME", resource)
    assert asyncio.run(Api().process({})) == {"local": {}}
    assert Api().plain() == "local a"
    assert worker.requests == []


def test_an_endpoint_that_the_manifest_lacks_is_called_by_name(worker: Edge) -> None:
    worker.on("POST /lb/flash/process", {"remote": 2})
    assert asyncio.run(Api("other").process({})) == {"remote": 2}
    names = {key: value for key, value in worker.requests[-1].headers.items() if key.startswith("x-flash-")}
    assert names == {
        "x-flash-app": "shop",
        "x-flash-environment": "production",
        "x-flash-endpoint": "other",
    }


def test_an_endpoint_that_is_nowhere_is_named(worker: Edge) -> None:
    with pytest.raises(EndpointNotFoundError, match="'api' was not found in app 'shop'"):
        asyncio.run(Api().process({}))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda api: api.process({1, 2}),
            SerializationError,
            r"argument 'input_data' of process\(\) is of type set",
        ),
        (
            lambda api: api.read(1, ""),
            SerializationError,
            r"argument 'part' of read\(\) is '', which cannot be part",
        ),
        (lambda api: api.read(1, ".."), SerializationError, "argument 'part'"),
        (lambda api: api.read([1], "a"), SerializationError, "argument 'item_id'"),
        (
            lambda api: api.read(1, "a", deep=None),
            SerializationError,
            "argument 'deep' .* which the query of a GET",
        ),
        (lambda api: api.read(1, "a", tags=[]), SerializationError, "argument 'tags'"),
        (
            lambda api: api.read(1, "a", tags=[{}]),
            SerializationError,
            r"the arguments of read\(\)\['tags'\] is of type",
        ),
        (lambda api: api.process(), TypeError, "missing a required argument: 'input_data'"),
        (lambda api: api.process({}, other=1), TypeError, "unexpected keyword argument 'other'"),
    ],
)
def test_what_http_cannot_carry_is_named_and_not_sent(
    worker: Edge, call: Any, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        asyncio.run(call(Api()))
    assert worker.requests == []


def test_a_route_that_streams_says_that_it_cannot_be_called(worker: Edge) -> None:
    with pytest.raises(TypeError, match="yields, and a route that streams"):
        Api().events()


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (Answer(500, {"detail": "Internal Server Error"}), RemoteExecutionError, r"process\(\) of endpoint 'api' raised"),
        (Answer(418, {"detail": "a teapot"}), HttpError, "HTTP 418: a teapot"),
        (Answer(422, {"detail": [{"loc": ["body", "x"], "msg": "Field required"}]}), HttpError, "body.x: Field required"),
        (Answer(404, {"detail": "no such item"}), HttpError, "no such item"),
        (Answer(502, {"error": "the worker ended", "code": "worker_failed"}), HttpError, "the worker ended"),
        (Answer(500, {"error": "our fault", "code": "internal"}), HttpError, "our fault"),
        (Answer(524, {"error": "slow", "code": "worker_too_slow"}), CallTimeoutError, "took longer than 90 s"),
    ],
)  # fmt: skip
def test_errors_say_what_they_are(worker: Edge, answer: Answer, error: type[Exception], message: str) -> None:
    worker.on("POST /lb/ep1/process", answer)
    with pytest.raises(error, match=message):
        asyncio.run(Api().process({}))
    assert len(worker.seen("POST /lb/ep1/process")) == 1


def test_a_busy_service_is_asked_again_and_a_busy_route_is_not(
    worker: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("edgerun.route_call.BACK_OFF_FIRST_SECONDS", 0.001)
    worker.on("POST /lb/ep1/process", Answer(429, {"error": "busy", "code": "rate_limited"}), {"remote": 1})
    assert asyncio.run(Api().process({})) == {"remote": 1}
    worker.on("POST /lb/ep1/process", Answer(429, {"detail": "busy myself"}))
    with pytest.raises(HttpError, match="busy myself"):
        asyncio.run(Api().process({}))
    assert len(worker.seen("POST /lb/ep1/process")) == 3


# In live workers

EXECUTE = "POST /lb/flash/execute"
CODE = {
    "execution_type": "route",
    "module": "test_route_calls",
    "modules": {"test_route_calls.py": SHA256},
    "dependencies": [],
    "system_dependencies": [],
    "accelerate_downloads": True,
}


@pytest.fixture
def live(worker: Edge, monkeypatch: pytest.MonkeyPatch) -> Edge:
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "live-caller")
    monkeypatch.setattr(live_peers, "_token", "erl_token")
    monkeypatch.setattr(live_call, "_taken", set())
    texts = lambda hashes: dict.fromkeys(hashes, TEXT.encode())
    monkeypatch.setattr(live_peers, "_latest", LivePeers({"api": CODE}, texts))
    return worker


def test_a_live_call_brings_the_code_and_the_request(live: Edge) -> None:
    live.on(EXECUTE, {"remote": 1}, {"remote": 2})
    assert asyncio.run(Api().process({"a": 1})) == {"remote": 1}
    assert asyncio.run(Api().read(3, "p", deep=True)) == {"remote": 2}
    first, second = live.seen(EXECUTE)
    assert first.headers["x-flash-live-token"] == "erl_token"
    assert first.headers["x-flash-endpoint"] == "api"
    assert first.body["sources"] == {SHA256: TEXT} and second.body["sources"] == {}
    assert first.body["http"] == {
        "method": "POST",
        "path": "/process",
        "query": "",
        "headers": [["content-type", "application/json"]],
        "body_base64": base64.b64encode(json.dumps({"input_data": {"a": 1}}, separators=(",", ":")).encode()).decode(),
    }  # fmt: skip
    assert second.body["http"] == {
        "method": "GET",
        "path": "/items/3/parts/p",
        "query": "deep=true",
        "headers": [],
        "body_base64": "",
    }
    assert [(one["method"], one["path"], one["function_name"]) for one in first.body["routes"]] == [
        ("POST", "/process", "process"),
        ("GET", "/items/{item_id}/parts/{part}", "read"),
        ("GET", "/plain", "plain"),
        ("GET", "/events", "events"),
    ]


def test_a_live_worker_that_lacks_texts_is_sent_them_once(live: Edge) -> None:
    lacking = Answer(409, {"missing_modules": [SHA256]}, {"X-Flash-Live": "missing-modules"})
    live.on(EXECUTE, {"remote": 1}, lacking, {"remote": 2})
    asyncio.run(Api().process({}))
    assert asyncio.run(Api().process({})) == {"remote": 2}
    assert [seen.body["sources"] for seen in live.seen(EXECUTE)] == [{SHA256: TEXT}, {}, {SHA256: TEXT}]


def test_what_a_live_route_raises_is_raised_here_with_its_traceback(live: Edge) -> None:
    fields = {"detail": "ValueError: no", "traceback": "Traceback: line 3"}
    live.on(EXECUTE, Answer(500, fields, {"X-Flash-Live": "raised"}))
    with pytest.raises(
        RemoteExecutionError, match="process.. of endpoint 'api' failed: ValueError: no"
    ) as raised:
        asyncio.run(Api().process({}))
    assert raised.value.remote_traceback == "Traceback: line 3"
    live.on(EXECUTE, Answer(500, ["not an object"], {"X-Flash-Live": "raised"}))
    with pytest.raises(RemoteExecutionError, match="failed: .*not an object"):
        asyncio.run(Api().process({}))
    live.on(EXECUTE, Answer(404, {"detail": "none"}))
    with pytest.raises(HttpError, match="none"):
        asyncio.run(Api().process({}))
