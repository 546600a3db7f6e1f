"""Calls of other endpoints in a live worker, and calls of scripts through `flash dev`."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from edge import Answer, Edge

from edgerun import (
    Endpoint,
    EndpointNotFoundError,
    LocalModulePayloadTooLargeError,
    PayloadTooLargeError,
    RemoteExecutionError,
    ServiceUnreachableError,
    live_call,
    live_peers,
)
from edgerun.live_peers import LivePeers

BY_NAME = "POST /v2/flash/runsync"
DONE = {"id": "j1", "status": "COMPLETED", "output": 5}
TEXT = "X = 'é'\n"
SHA256 = hashlib.sha256(TEXT.encode()).hexdigest()


@Endpoint(name="adder")
async def add(a: int, b: int = 1) -> int: ...  # type: ignore[empty-body]


@Endpoint(name="counter")
class Counter:
    def count(self, by: int) -> int: ...  # type: ignore[empty-body]
    def reset(self) -> None: ...


@Endpoint(name="unseen")
async def unseen() -> None: ...


def code(module: str, **named: str) -> dict[str, Any]:
    return {
        "execution_type": "class" if "class_name" in named else "function",
        "module": module,
        "modules": {f"{module}.py": SHA256},
        "dependencies": ["pillow"],
        "system_dependencies": [],
        "accelerate_downloads": True,
        **named,
    }


CODES = {
    "adder": code("adders", function_name="add"),
    "counter": code("counters", class_name="Counter"),
    "caller": code("callers", function_name="call"),
}


@pytest.fixture
def live(monkeypatch: pytest.MonkeyPatch, edge: Edge) -> Edge:
    """A live worker of the endpoint `caller`."""
    monkeypatch.setenv("RUNPOD_ENDPOINT_ID", "ep0")
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "live-caller")
    monkeypatch.setenv("FLASH_ENVIRONMENT_ID", "env1")
    monkeypatch.setenv("FLASH_APP", "shop")
    monkeypatch.setenv("FLASH_ENV", "live-abcdef")
    monkeypatch.setattr(live_call, "_taken", set())
    monkeypatch.setattr(
        live_peers, "_latest", LivePeers(CODES, lambda hashes: dict.fromkeys(hashes, TEXT.encode()))
    )
    edge.on(BY_NAME, DONE)
    return edge


def failed(**fields: Any) -> dict[str, Any]:
    return {"id": "j1", "status": "FAILED", "error": json.dumps(fields)}


LACKING = failed(error_type="MissingModules", error_message="lacks", missing_modules=[SHA256])


def test_a_call_of_another_endpoint_brings_its_code(live: Edge) -> None:
    assert asyncio.run(add(1, b=2)) == 5
    (call,) = live.seen(BY_NAME)
    assert [call.headers[f"x-flash-{name}"] for name in ("app", "environment", "endpoint")] == [
        "shop",
        "live-abcdef",
        "adder",
    ]
    assert call.body["input"] == {
        "protocol": 1,
        **CODES["adder"],
        "args": [],
        "kwargs": {"a": 1, "b": 2},
        "sources": {SHA256: TEXT},
        "peers": {"counter": CODES["counter"], "caller": CODES["caller"]},
    }


def test_a_method_is_named_beside_its_arguments(live: Edge) -> None:
    assert asyncio.run(Counter().count(by=2)) == 5
    (call,) = live.seen(BY_NAME)
    sent = call.body["input"]
    assert (sent["class_name"], sent["method_name"], sent["kwargs"]) == ("Counter", "count", {"by": 2})


def test_texts_are_sent_until_a_worker_has_taken_them(live: Edge) -> None:
    async def calls() -> None:
        await add(1)
        await add(2)

    asyncio.run(calls())
    assert [call.body["input"]["sources"] for call in live.seen(BY_NAME)] == [{SHA256: TEXT}, {}]


def test_a_worker_that_lacks_texts_is_sent_all_of_them_once(live: Edge) -> None:
    asyncio.run(add(1))
    live.on(BY_NAME, LACKING, DONE)
    assert asyncio.run(add(1)) == 5
    assert [call.body["input"]["sources"] for call in live.seen(BY_NAME)[1:]] == [{}, {SHA256: TEXT}]
    live.on(BY_NAME, LACKING)
    with pytest.raises(RemoteExecutionError, match="MissingModules"):
        asyncio.run(add(1))
    assert len(live.seen(BY_NAME)) == 5


def test_what_the_other_raises_is_raised_here_and_nothing_is_run_twice(live: Edge) -> None:
    live.on(BY_NAME, failed(error_type="ValueError", error_message="MissingModules?", error_traceback="T"))
    with pytest.raises(RemoteExecutionError, match=r"ValueError: MissingModules\?"):
        asyncio.run(add(1))
    assert len(live.seen(BY_NAME)) == 1


def test_an_endpoint_that_was_not_seen_in_the_code_is_told(live: Edge) -> None:
    with pytest.raises(
        EndpointNotFoundError, match="has seen no reference to it in this code, only to: adder, "
    ):
        asyncio.run(unseen())
    assert live.requests == []


def test_an_endpoint_of_an_own_image_gets_a_plain_call_by_its_name(live: Edge) -> None:
    assert asyncio.run(Endpoint(name="llm", image="me/llm:1").runsync({"prompt": "hi"})).output == 5
    (call,) = live.requests
    assert (call.headers["x-flash-endpoint"], call.body) == ("llm", {"input": {"prompt": "hi"}})


def test_files_and_arguments_have_limits(live: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_call, "ARGUMENTS_MAX_BYTES", 10)
    with pytest.raises(PayloadTooLargeError, match="in a live call they may have 10"):
        asyncio.run(add(1_000_000))
    monkeypatch.setattr(live_call, "SOURCES_MAX_BYTES", 3)
    with pytest.raises(LocalModulePayloadTooLargeError, match=r"that add\(\) needs have 9 bytes"):
        asyncio.run(add(1))
    assert live.requests == []


def test_the_call_that_runs_decides_over_the_latest(live: Edge) -> None:
    async def call_with(codes: dict[str, Any]) -> None:
        live_peers._of_call.set(LivePeers(codes, lambda hashes: {}))
        await add(1)

    asyncio.run(call_with({"adder": {**CODES["adder"], "module": "other"}}))
    assert live.seen(BY_NAME)[0].body["input"]["module"] == "other"


def test_a_route_of_an_own_image_is_asked_for_by_its_name(live: Edge) -> None:
    live.on("POST /lb/flash/embed", {"vector": []})

    async def embed() -> Any:
        return await Endpoint(name="llm", image="me/llm:1").post("/embed", {"text": "hi"})

    assert asyncio.run(embed()) == {"vector": []}
    assert [call.headers["x-flash-endpoint"] for call in live.requests] == ["llm"]


# Scripts


@pytest.fixture
def dev(monkeypatch: pytest.MonkeyPatch, edge: Edge) -> Edge:
    """A script of a project in which `flash dev` runs."""
    monkeypatch.delenv("SVC_API_KEY")
    monkeypatch.delenv("EDGERUN_URL")
    monkeypatch.setenv("FLASH_IS_LIVE_PROVISIONING", "true")
    write_address(edge.url, os.getpid())
    for name in ("adder", "counter", "llm"):
        edge.on(f"POST /{name}/runsync", DONE)
    return edge


def write_address(url: str, pid: int) -> None:
    Path(".flash").mkdir(exist_ok=True)
    Path(".flash/dev.json").write_text(json.dumps({"url": url, "pid": pid}), encoding="utf-8")


def test_a_script_calls_the_dev_server_without_any_key(dev: Edge) -> None:
    assert asyncio.run(add(1, b=2)) == 5
    assert asyncio.run(Counter().count(by=2)) == 5
    assert asyncio.run(Endpoint(name="llm", image="me/llm:1").runsync({"a": 1})).output == 5
    first, second, third = dev.requests
    assert "authorization" not in first.headers
    assert (first.path, first.body) == ("/adder/runsync", {"input": {"a": 1, "b": 2}})
    assert (second.path, second.body) == ("/counter/runsync", {"input": {"method": "count", "by": 2}})
    assert (third.path, third.body) == ("/llm/runsync", {"input": {"a": 1}})


def test_a_script_asks_for_routes_of_an_own_image_at_the_dev_server(dev: Edge) -> None:
    dev.on("GET /llm/models", ["small"])

    async def models() -> Any:
        return await Endpoint(name="llm", image="me/llm:1").get("/models")

    assert asyncio.run(models()) == ["small"]


def test_a_job_that_goes_on_is_asked_for_at_the_dev_server(dev: Edge) -> None:
    dev.on("POST /adder/runsync", {"id": "j1", "status": "IN_PROGRESS"})
    dev.on("GET /adder/status/j1", DONE)
    assert asyncio.run(add(1)) == 5


def test_the_address_is_found_from_a_folder_below_the_project(
    dev: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("scripts/deep").mkdir(parents=True)
    monkeypatch.chdir("scripts/deep")
    assert asyncio.run(add(1)) == 5


def test_a_server_that_was_killed_is_not_called(dev: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    write_address("http://127.0.0.1:1", gone.pid)
    monkeypatch.setenv("FLASH_PORT", dev.url.rpartition(":")[2])
    assert asyncio.run(add(1)) == 5


def test_without_a_server_it_is_told_how_to_start_one(dev: Edge) -> None:
    write_address("http://127.0.0.1:1", os.getpid())
    with pytest.raises(
        ServiceUnreachableError, match="No `flash dev` answers at http://127.0.0.1:1: start it"
    ):
        asyncio.run(add(1))


def test_an_endpoint_that_the_server_does_not_have_is_told(dev: Edge) -> None:
    dev.on("POST /adder/runsync", Answer(404, {"detail": "no such endpoint"}))
    with pytest.raises(EndpointNotFoundError, match="has no endpoint 'adder': is it of another project"):
        asyncio.run(add(1))


def test_what_it_answers_to_a_wrong_call_is_shown(dev: Edge) -> None:
    detail = [{"loc": ["body", "input", "a"], "msg": "Field required", "type": "missing"}]
    dev.on("POST /adder/runsync", Answer(422, {"detail": detail}))
    with pytest.raises(Exception, match="HTTP 422: body.input.a: Field required"):
        asyncio.run(add(1))


@pytest.mark.parametrize("value", ["", "false", "1"])
def test_other_values_do_not_lead_to_it(dev: Edge, monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("FLASH_IS_LIVE_PROVISIONING", value)
    advice = f"Use `flash dev` to try functions (it runs at {dev.url}: set FLASH_IS_LIVE_PROVISIONING=true"
    with pytest.raises(RuntimeError, match=re.escape(advice)):
        asyncio.run(add(1))
