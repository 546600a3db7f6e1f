"""Clients by id, and jobs, over real HTTP."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest
from edge import Answer, Edge, Hangup

from edgerun import APIKeyError, Endpoint, EndpointJob, HttpError, SerializationError, ServiceUnreachableError
from edgerun.query_text import query_text

ENDPOINT = Endpoint(id="abc")
STATUS = "GET /v2/abc/status/j1"
IN_QUEUE = {"id": "j1", "status": "IN_QUEUE"}
IN_PROGRESS = {"id": "j1", "status": "IN_PROGRESS", "output": "half"}
COMPLETED = {"id": "j1", "status": "COMPLETED", "output": {"n": 1}}
FAILED = {"id": "j1", "status": "FAILED", "error": "no"}


async def submitted() -> EndpointJob:
    return await ENDPOINT.run({"a": 1})


async def waited(timeout: float | None = None) -> EndpointJob:
    return await (await submitted()).wait(timeout)


# Submitting


def test_run_wraps_the_input_and_does_not_wait(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    job = asyncio.run(ENDPOINT.run({"a": 1}, webhook="https://me.example/hook"))
    assert edge.requests[0].body == {"input": {"a": 1}, "webhook": "https://me.example/hook"}
    assert (job.id, job.done, job.output, job.error) == ("j1", False, None, None)
    assert repr(job) == "EndpointJob(id='j1', status='IN_QUEUE')"


def test_an_input_with_a_key_input_is_wrapped_all_the_same(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    asyncio.run(ENDPOINT.run({"input": {}}))
    assert edge.requests[0].body == {"input": {"input": {}}}


def test_runsync_waits_and_gives_the_job(edge: Edge) -> None:
    edge.on("POST /v2/abc/runsync", COMPLETED)
    job = asyncio.run(ENDPOINT.runsync({"a": 1}))
    assert (job.done, job.completed, job.output) == (True, True, {"n": 1})
    assert 59_000 <= int(edge.requests[0].query["wait"]) <= 60_000


def test_runsync_of_an_endpoint_with_a_time_of_its_own_waits_for_that(edge: Edge) -> None:
    edge.on("POST /v2/abc/runsync", COMPLETED)
    asyncio.run(Endpoint(id="abc", execution_timeout_ms=600_000).runsync({}))
    asyncio.run(ENDPOINT.runsync({}, timeout=5))
    waits = [int(seen.query["wait"]) for seen in edge.requests]
    assert waits[0] == 300_000  # No request is held longer; polls follow.
    assert 4_000 <= waits[1] <= 5_000


def test_runsync_gives_a_job_that_takes_longer_as_it_stands(edge: Edge) -> None:
    edge.on("POST /v2/abc/runsync", IN_QUEUE)
    edge.on(STATUS, IN_PROGRESS)
    job = asyncio.run(ENDPOINT.runsync({}, timeout=0.3))
    assert (job.id, job.done, job.last_status) == ("j1", False, "IN_PROGRESS")


def test_a_failed_job_is_a_job_and_no_exception(edge: Edge) -> None:
    edge.on("POST /v2/abc/runsync", FAILED)
    job = asyncio.run(ENDPOINT.runsync({}))
    assert (job.done, job.completed, job.error, job.output) == (True, False, "no", None)


def test_an_input_that_json_cannot_carry_is_rejected(edge: Edge) -> None:
    with pytest.raises(SerializationError, match=r"the input\['input'\]\['a'\] is of type bytes"):
        asyncio.run(ENDPOINT.run({"a": b""}))


def test_jobs_are_asked_about_and_cancelled_by_id(edge: Edge) -> None:
    edge.on(STATUS, IN_PROGRESS)
    edge.on("POST /v2/abc/cancel/j1", {"id": "j1", "status": "CANCELLED"})
    assert asyncio.run(ENDPOINT.status("j1")) == "IN_PROGRESS"
    job = asyncio.run(ENDPOINT.cancel("j1"))
    assert (job.id, job.done, job.last_status) == ("j1", True, "CANCELLED")


def test_an_id_cannot_lead_elsewhere(edge: Edge) -> None:
    with pytest.raises(HttpError):
        asyncio.run(ENDPOINT.status("../../x?y"))
    assert edge.requests[0].path == "/v2/abc/status/..%2F..%2Fx%3Fy"


def test_a_busy_service_is_asked_again(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", Answer(429, None, {"Retry-After": "0"}), IN_QUEUE)
    assert asyncio.run(submitted()).id == "j1"


# Waiting


def test_wait_polls_until_the_job_has_ended(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    edge.on(STATUS, IN_QUEUE, COMPLETED)
    assert asyncio.run(waited()).output == {"n": 1}
    assert len(edge.seen(STATUS)) == 2


def test_wait_of_a_job_that_has_ended_sends_no_request(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", COMPLETED)
    assert asyncio.run(waited()).done
    assert len(edge.requests) == 1


def test_wait_that_takes_too_long_names_job_seconds_and_status(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    edge.on(STATUS, IN_PROGRESS)
    with pytest.raises(
        TimeoutError, match=r"Job j1 has not ended within 0.4 s; its last status is IN_PROGRESS"
    ):
        asyncio.run(waited(0.4))


def test_four_broken_connections_in_a_row_are_borne(edge: Edge, quick_polls: None) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    edge.on(STATUS, *[Hangup()] * 4, IN_PROGRESS, *[Hangup()] * 4, COMPLETED)
    assert asyncio.run(waited()).done


def test_the_fifth_is_raised(edge: Edge, quick_polls: None) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    edge.on(STATUS, *[Hangup()] * 5, COMPLETED)
    with pytest.raises(ServiceUnreachableError):
        asyncio.run(waited())


def test_an_error_response_is_raised_at_once(edge: Edge) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    edge.on(STATUS, Answer(404, {"error": "gone", "code": "job_not_found"}))
    with pytest.raises(HttpError, match="gone"):
        asyncio.run(waited())
    edge.on(STATUS, Answer(401, {"error": "no"}))
    with pytest.raises(APIKeyError):
        asyncio.run(waited())
    assert len(edge.seen(STATUS)) == 2


def test_a_busy_service_never_ends_the_wait(edge: Edge, quick_polls: None) -> None:
    edge.on("POST /v2/abc/run", IN_QUEUE)
    edge.on(STATUS, *[Answer(429), Answer(503)] * 4, COMPLETED)
    assert asyncio.run(waited()).done


@pytest.fixture
def quick_polls(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("edgerun.job.POLL_FIRST_SECONDS", 0.001)
    monkeypatch.setattr("edgerun.job.POLL_MAX_SECONDS", 0.001)


# Requests of load-balanced endpoints


def test_post_sends_plain_json_and_answers_it(edge: Edge) -> None:
    edge.on("POST /lb/abc/items/3", {"ok": True})

    async def ask() -> Any:
        return await ENDPOINT.post("/items/3", {"name": "a"})

    assert asyncio.run(ask()) == {"ok": True}
    assert edge.requests[0].body == {"name": "a"}
    assert edge.requests[0].headers["authorization"] == "Bearer er_test"


@pytest.mark.parametrize("method", ["put", "patch"])
def test_the_other_methods_send_json_too(edge: Edge, method: str) -> None:
    edge.on(f"{method.upper()} /lb/abc/x", [1])

    async def ask() -> Any:
        return await getattr(ENDPOINT, method)("/x", {"n": 1})

    assert asyncio.run(ask()) == [1]
    assert edge.requests[0].body == {"n": 1}


@pytest.mark.parametrize("method", ["get", "delete"])
def test_methods_without_a_body_send_their_data_as_the_query(edge: Edge, method: str) -> None:
    edge.on(f"{method.upper()} /lb/abc/x", {"ok": True})

    async def ask() -> Any:
        return await getattr(ENDPOINT, method)("/x?a=1", {"b": "ö &", "c": True, "d": None, "e": 1.5})

    asyncio.run(ask())
    assert edge.requests[0].query == {"a": "1", "b": "ö &", "c": "true", "e": "1.5"}
    assert edge.requests[0].body is None


def test_a_query_repeats_the_names_of_lists_and_carries_no_more_than_that() -> None:
    assert query_text({"a": [1, "b"], "c": (False,)}) == "a=1&a=b&c=false"
    with pytest.raises(SerializationError, match=r"data\['a'\] is of type dict, which a query cannot carry"):
        query_text({"a": {}})


def test_headers_are_sent(edge: Edge) -> None:
    edge.on("POST /lb/abc/x", {})

    async def ask() -> Any:
        return await ENDPOINT.post("/x", {}, headers={"X-Mine": "1"})

    asyncio.run(ask())
    assert edge.requests[0].headers["x-mine"] == "1"


def test_an_error_of_the_worker_is_raised_and_not_tried_again(edge: Edge) -> None:
    edge.on("POST /lb/abc/x", Answer(503, {"detail": [{"msg": "busy"}]}))

    async def ask() -> Any:
        return await ENDPOINT.post("/x", {})

    with pytest.raises(HttpError, match="HTTP 503") as it:
        asyncio.run(ask())
    assert it.value.body == '{"detail": [{"msg": "busy"}]}'
    assert len(edge.requests) == 1


def test_a_request_takes_no_longer_than_it_may(edge: Edge) -> None:
    edge.on("POST /lb/abc/x", lambda seen: time.sleep(0.4))

    async def ask() -> Any:
        return await ENDPOINT.post("/x", {}, timeout=0.1)

    with pytest.raises(TimeoutError, match=r"POST .*/lb/abc/x was not answered within 0.1 s"):
        asyncio.run(ask())


def test_a_path_begins_with_a_slash(edge: Edge) -> None:
    async def ask() -> Any:
        return await ENDPOINT.post("x")

    with pytest.raises(ValueError, match="path='x' must begin with"):
        asyncio.run(ask())
