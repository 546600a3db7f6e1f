"""Calls of deployed functions, over real HTTP."""

from __future__ import annotations

import asyncio
import dataclasses
import threading
from typing import Any

import pytest
from edge import Answer, Edge, Hangup, Seen

from edgerun import (
    APIKeyError,
    AppContextError,
    CallTimeoutError,
    Endpoint,
    EndpointNotFoundError,
    FlashRuntimeError,
    HttpError,
    PayloadTooLargeError,
    RemoteExecutionError,
    SerializationError,
    ServiceUnreachableError,
    http_transport,
)
from edgerun.http_transport import is_here

RUNSYNC = "POST /v2/flash/runsync"
STATUS = "GET /v2/flash/status/j1"


@Endpoint(name="resize", cpu="cpu3c-1-2")
def resize(width: int, height: int = 10, *, mode: str = "fit", **rest: Any) -> int:
    return width * height


@Endpoint(name="nothing")
async def nothing() -> None: ...


@Endpoint(name="slow", execution_timeout_ms=120_000)
async def slow() -> None: ...


@Endpoint(name="many")
def many(*sizes: int) -> None: ...


def completed(output: Any = None) -> dict[str, Any]:
    return {"id": "j1", "status": "COMPLETED", "output": output, "delayTime": 0, "executionTime": 1}


def failed(error: str) -> dict[str, Any]:
    return {"id": "j1", "status": "FAILED", "error": error}


pytestmark = pytest.mark.usefixtures("app")


def test_a_call_is_one_request_by_name_with_the_arguments_by_name(edge: Edge) -> None:
    edge.on(RUNSYNC, completed({"ok": True}))
    assert asyncio.run(resize(3, mode="fill", blur=2)) == {"ok": True}
    (seen,) = edge.requests
    assert (seen.method, seen.path) == ("POST", "/v2/flash/runsync")
    assert seen.headers["x-flash-app"] == "shop"
    assert seen.headers["x-flash-environment"] == "production"
    assert seen.headers["x-flash-endpoint"] == "resize"
    assert seen.headers["authorization"] == "Bearer er_test"
    assert seen.headers["content-type"] == "application/json"
    assert seen.body == {"input": {"width": 3, "mode": "fill", "blur": 2}}


def test_a_call_without_arguments_sends_an_empty_input(edge: Edge) -> None:
    edge.on(RUNSYNC, {"id": "j1", "status": "COMPLETED"})
    assert asyncio.run(nothing()) is None
    assert edge.requests[0].body == {"input": {}}


@pytest.mark.parametrize("output", ["", "größer 🐈", 0, [1, None], {"a": {"b": 1.5}}, None, False])
def test_results_come_as_they_are(edge: Edge, output: Any) -> None:
    edge.on(RUNSYNC, completed(output))
    assert asyncio.run(nothing()) == output


def test_a_result_with_a_key_error_is_a_result(edge: Edge) -> None:
    edge.on(RUNSYNC, completed({"error": "none of ours", "status": "FAILED"}))
    assert asyncio.run(nothing()) == {"error": "none of ours", "status": "FAILED"}


def test_any_number_of_calls_wait_at_the_same_time(edge: Edge) -> None:
    everyone = threading.Barrier(40)

    def reply(seen: Seen) -> Any:
        everyone.wait(30)  # Nobody is answered before all are there.
        return completed(seen.body["input"]["width"])

    edge.on(RUNSYNC, reply)

    async def all_of_them() -> list[Any]:
        return await asyncio.gather(*(resize(width) for width in range(40)))

    assert asyncio.run(all_of_them()) == list(range(40))


def test_wrong_arguments_are_a_type_error_before_anything_is_sent(edge: Edge) -> None:
    for call in (lambda: resize(), lambda: resize(1, 2, 3), lambda: nothing(1)):  # type: ignore[call-arg]
        with pytest.raises(TypeError):
            asyncio.run(call())
    with pytest.raises(TypeError, match=r"arguments of \*sizes have no names"):
        asyncio.run(many(1, 2))
    assert edge.requests == []


def test_a_job_that_outlasts_the_runsync_is_polled(edge: Edge) -> None:
    edge.on(RUNSYNC, {"id": "j1", "status": "IN_QUEUE"})
    edge.on(STATUS, {"id": "j1", "status": "IN_PROGRESS"}, completed(7))
    assert asyncio.run(nothing()) == 7
    polls = edge.seen(STATUS)
    assert len(polls) == 2
    assert polls[0].headers["x-flash-endpoint"] == "nothing"


# Time


def test_the_service_holds_the_call_for_ninety_seconds(edge: Edge) -> None:
    edge.on(RUNSYNC, completed())
    asyncio.run(nothing())
    assert 89_000 <= int(edge.requests[0].query["wait"]) <= 90_000


def test_it_may_be_told_another_time(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    edge.on(RUNSYNC, completed())
    monkeypatch.setenv("FLASH_SENTINEL_TIMEOUT", "20")
    asyncio.run(nothing())
    asyncio.run(slow())
    waits = [int(seen.query["wait"]) for seen in edge.requests]
    assert 19_000 <= waits[0] <= 20_000
    assert 119_000 <= waits[1] <= 120_000  # Its own time is longer.


@pytest.mark.parametrize("wrong", ["soon", "0", "-3", "nan", "inf"])
def test_a_time_that_is_none_is_rejected(edge: Edge, monkeypatch: pytest.MonkeyPatch, wrong: str) -> None:
    monkeypatch.setenv("FLASH_SENTINEL_TIMEOUT", wrong)
    with pytest.raises(ValueError, match=f"FLASH_SENTINEL_TIMEOUT='{wrong}' must be"):
        asyncio.run(nothing())


def test_a_call_that_takes_too_long_is_a_runtime_error_with_advice(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLASH_SENTINEL_TIMEOUT", "0.3")
    edge.on(RUNSYNC, {"id": "j1", "status": "IN_QUEUE"})
    edge.on(STATUS, {"id": "j1", "status": "IN_PROGRESS"})
    with pytest.raises(
        CallTimeoutError, match=r"took longer than 0.3 s.*j1.*IN_PROGRESS.*FLASH_SENTINEL_TIMEOUT"
    ) as it:
        asyncio.run(nothing())
    assert isinstance(it.value, RuntimeError)


# Refusals


def test_an_endpoint_that_is_not_deployed_is_named_with_its_app_and_environment(edge: Edge) -> None:
    with pytest.raises(
        EndpointNotFoundError,
        match=r"'resize' was not found in app 'shop', environment 'production': deploy it first",
    ) as it:
        asyncio.run(resize(1))
    assert isinstance(it.value, RuntimeError)


def test_a_result_that_is_not_kept_any_more_is_not_taken_for_a_missing_endpoint(edge: Edge) -> None:
    edge.on(RUNSYNC, {"id": "j1", "status": "IN_QUEUE"})
    edge.on(STATUS, Answer(404, {"error": "gone", "code": "job_not_found"}))
    with pytest.raises(HttpError, match="gone") as it:
        asyncio.run(nothing())
    assert (it.value.status, it.value.code) == (404, "job_not_found")


def test_a_busy_service_is_asked_again(edge: Edge) -> None:
    edge.on(RUNSYNC, Answer(429, {"error": "slow down"}, {"Retry-After": "0"}), completed(1))
    assert asyncio.run(nothing()) == 1
    assert len(edge.requests) == 2


def test_a_busy_service_is_asked_no_longer_than_the_call_may_take(edge: Edge) -> None:
    edge.on(RUNSYNC, Answer(429, {"error": "slow down"}, {"Retry-After": "3600"}))
    with pytest.raises(HttpError, match="slow down") as it:
        asyncio.run(nothing())
    assert it.value.retry_after == 3600


def test_other_error_responses_are_reported_as_the_service_tells_them(edge: Edge) -> None:
    edge.on(RUNSYNC, Answer(400, {"error": "input must be an object", "code": "invalid_input"}))
    with pytest.raises(HttpError, match="HTTP 400: input must be an object") as it:
        asyncio.run(nothing())
    assert len(edge.requests) == 1
    assert it.value.code == "invalid_input"


def test_a_key_that_is_rejected_is_said_to_be(edge: Edge) -> None:
    edge.on(RUNSYNC, Answer(401, {"error": "The API key is unknown."}))
    with pytest.raises(APIKeyError, match="refuses the API key: The API key is unknown"):
        asyncio.run(nothing())


def test_too_much_is_said_to_be_too_much(edge: Edge) -> None:
    edge.on(RUNSYNC, Answer(413, {"error": "at most 20 MB"}))
    with pytest.raises(PayloadTooLargeError, match="at most 20 MB"):
        asyncio.run(nothing())


def test_a_service_that_is_not_there_is_named(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    edge.close()
    with pytest.raises(ServiceUnreachableError, match=rf"{edge.url} cannot be reached.*EDGERUN_URL"):
        asyncio.run(nothing())


@pytest.mark.parametrize("reply", [Hangup(), Answer(500), Answer(502), Answer(503), Answer(504)])
def test_a_job_that_may_run_already_is_not_submitted_again(edge: Edge, reply: Answer | Hangup) -> None:
    edge.on(RUNSYNC, reply)
    with pytest.raises((ServiceUnreachableError, HttpError)):
        asyncio.run(nothing())
    assert len(edge.requests) == 1


def test_a_service_on_this_computer_is_reached_without_a_proxy(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    http_transport._opener.cache_clear()
    edge.on(RUNSYNC, completed(1))
    assert asyncio.run(nothing()) == 1


@pytest.mark.parametrize(
    ("url", "here"),
    [
        ("http://localhost:8787", True),
        ("http://abc.lb.localhost:8787/x", True),
        ("http://127.8.0.1", True),
        ("http://[::1]:80", True),
        ("https://edge.example", False),
        ("http://localhost.example", False),
        ("http://10.0.0.1", False),
    ],
)
def test_other_addresses_may_need_one(url: str, here: bool) -> None:
    assert is_here(url) is here


def test_the_key_follows_no_redirect(edge: Edge) -> None:
    elsewhere = Edge()
    edge.on(RUNSYNC, Answer(302, None, {"Location": f"{elsewhere.url}/v2/flash/runsync"}))
    with pytest.raises(HttpError, match="HTTP 302"):
        asyncio.run(nothing())
    assert elsewhere.requests == []
    elsewhere.close()


# Failures of the function


def test_a_failed_job_raises_with_the_remote_traceback(edge: Edge) -> None:
    traceback = 'Traceback (most recent call last):\n  File "/app/worker.py", line 3\nValueError: bad width'
    error = f'{{"error_type": "ValueError", "error_message": "bad width", "error_traceback": "{traceback}"}}'
    edge.on(RUNSYNC, failed(error.replace('"/app/worker.py"', r"\"/app/worker.py\"").replace("\n", r"\n")))
    with pytest.raises(
        RemoteExecutionError, match=r"resize\(\) of endpoint 'resize' failed: ValueError: bad width"
    ) as it:
        asyncio.run(resize(1))
    assert isinstance(it.value, RuntimeError)
    assert isinstance(it.value, FlashRuntimeError)
    assert it.value.remote_type == "ValueError"
    assert it.value.remote_traceback == traceback
    assert traceback in str(it.value)
    assert it.value.job_id == "j1"


@pytest.mark.parametrize(
    ("error", "kind", "said"),
    [
        ("worker lost", None, "worker lost"),
        ('{"a": 1}', None, '{"a": 1}'),
        ('{"error_type": "<class \'KeyError\'>", "error_message": "\'x\'"}', "KeyError", "KeyError: 'x'"),
        ("Traceback (most recent call last):\n  x\nOSError: y", None, "OSError: y"),
    ],
)
def test_failures_of_other_workers_are_understood_too(
    edge: Edge, error: str, kind: str | None, said: str
) -> None:
    edge.on(RUNSYNC, failed(error))
    with pytest.raises(RemoteExecutionError) as it:
        asyncio.run(nothing())
    assert it.value.remote_type == kind
    assert str(it.value).startswith(f"nothing() of endpoint 'nothing' failed: {said}; job j1.")


@pytest.mark.parametrize(
    ("status", "said"), [("CANCELLED", "was cancelled"), ("TIMED_OUT", "timed out on its worker")]
)
def test_a_job_that_was_stopped_raises_too(edge: Edge, status: str, said: str) -> None:
    edge.on(RUNSYNC, {"id": "j1", "status": status})
    with pytest.raises(RemoteExecutionError, match=said) as it:
        asyncio.run(nothing())
    assert it.value.status == status


# Values


@dataclasses.dataclass
class Size:
    width: int


class Array:
    def tolist(self) -> list[int]:
        return []


class Model:
    def model_dump(self) -> dict[str, int]:
        return {}


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (b"abc", r"argument 'width' of resize\(\) is of type bytes, .*base64"),
        (Size(1), r"is of type .*test_calls.Size, .*dataclasses.asdict"),
        (Array(), r"is of type .*test_calls.Array, .*tolist"),
        (Model(), r"is of type .*test_calls.Model, .*model_dump"),
        ({1, 2}, r"is of type set, .*a list"),
        ([{"a": object()}], r"argument 'width' of resize\(\)\[0\]\['a'\] is of type object"),
        ({1: 2}, r"has the key 1 of type int: keys must be texts"),
        (float("nan"), r"is nan, which JSON cannot carry"),
        ([10**5000], r"argument 'width' of resize\(\)\[0\] is too large a number: .*4300"),
    ],
)
def test_what_json_cannot_carry_is_named_with_advice(edge: Edge, value: Any, message: str) -> None:
    with pytest.raises(SerializationError, match=message):
        asyncio.run(resize(value))
    assert edge.requests == []


def test_a_value_that_holds_itself_is_rejected(edge: Edge) -> None:
    loop: list[Any] = []
    loop.append(loop)
    with pytest.raises(SerializationError, match="nested more than"):
        asyncio.run(resize(loop))  # type: ignore[arg-type]


# Context


def test_without_context_a_call_is_a_runtime_error_that_names_the_endpoint(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLASH_APP")
    monkeypatch.delenv("FLASH_ENV")
    with pytest.raises(AppContextError, match=r"'resize'.*`flash dev`.*FLASH_APP and FLASH_ENV") as it:
        asyncio.run(resize(1))
    assert isinstance(it.value, RuntimeError)
    assert edge.requests == []


def test_without_a_key_the_three_ways_to_one_are_named(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SVC_API_KEY")
    with pytest.raises(APIKeyError, match=r"`flash login`, export SVC_API_KEY, .*\.env"):
        asyncio.run(resize(1))
