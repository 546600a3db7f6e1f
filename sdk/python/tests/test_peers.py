"""Calls of one deployed worker to another endpoint of its environment."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from edge import Answer, Edge, Hangup

from edgerun import APIKeyError, Endpoint, EndpointNotFoundError, ManifestServiceUnavailableError
from edgerun.connection import Connection
from edgerun.peers import CACHE_SECONDS, PeerDirectory

PEER = "POST /v2/ep1/runsync"
BY_NAME = "POST /v2/flash/runsync"
DONE = {"id": "j1", "status": "COMPLETED", "output": 5}


@Endpoint(name="peer")
async def peer() -> int: ...  # type: ignore[empty-body]


@pytest.fixture(autouse=True)
def worker(monkeypatch: pytest.MonkeyPatch, app: None) -> None:
    monkeypatch.setenv("RUNPOD_ENDPOINT_ID", "ep0")
    monkeypatch.setenv("FLASH_RESOURCE_NAME", "caller")
    monkeypatch.setenv("FLASH_ENVIRONMENT_ID", "env1")


def answering(addresses: Any) -> Any:
    def answer(document: str, variables: dict[str, Any]) -> Any:
        if "flashEnvironment(" in document:
            assert variables == {"id": "env1"}
            return {"flashEnvironment": {"activeBuildId": "b1"}}
        assert variables == {"id": "b1"}
        return {"flashBuild": {"manifest": {"resources_endpoints": addresses}}}

    return answer


def test_a_peer_is_called_at_the_address_of_the_manifest(edge: Edge) -> None:
    edge.graphql(answering({"peer": "https://edge.example/v2/ep1"}))
    edge.on(PEER, DONE)
    assert asyncio.run(peer()) == 5
    (call,) = edge.seen(PEER)
    assert "x-flash-app" not in call.headers
    assert call.headers["authorization"] == "Bearer er_test"


def test_an_endpoint_of_an_own_image_is_a_peer_too(edge: Edge) -> None:
    edge.graphql(answering({"llm": "https://edge.example/v2/ep1"}))
    edge.on(PEER, DONE)
    client = Endpoint(name="llm", image="me/llm:1")
    assert asyncio.run(client.runsync({"a": 1})).output == 5
    # Its key does not open anything else.
    assert all("myself" not in str(call.body) for call in edge.seen("POST /graphql"))


def test_the_manifest_is_asked_for_once_in_a_while(edge: Edge) -> None:
    edge.graphql(answering({"peer": "https://edge.example/v2/ep1"}))
    edge.on(PEER, DONE)

    async def twice() -> None:
        await asyncio.gather(peer(), peer())
        await peer()

    asyncio.run(twice())
    assert len(edge.seen("POST /graphql")) == 2
    assert len(edge.seen(PEER)) == 3


@pytest.mark.parametrize(
    "addresses", [None, {}, {"other": "https://edge.example/v2/ep2"}, {"peer": 3}, {"peer": "x"}]
)
def test_a_peer_that_the_manifest_lacks_is_called_by_name(edge: Edge, addresses: Any) -> None:
    edge.graphql(answering(addresses))
    edge.on(BY_NAME, DONE)
    assert asyncio.run(peer()) == 5
    assert edge.seen(BY_NAME)[0].headers["x-flash-endpoint"] == "peer"


def test_without_an_environment_id_a_peer_is_called_by_name(
    edge: Edge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FLASH_ENVIRONMENT_ID")
    edge.on(BY_NAME, DONE)
    assert asyncio.run(peer()) == 5
    assert len(edge.requests) == 1


def test_a_peer_that_has_moved_is_called_by_name_and_looked_up_again(edge: Edge) -> None:
    edge.graphql(answering({"peer": "https://edge.example/v2/ep1"}))
    edge.on(BY_NAME, DONE)
    assert asyncio.run(peer()) == 5  # ep1 is a 404.
    edge.graphql(answering({"peer": "https://edge.example/v2/ep3"}))
    edge.on("POST /v2/ep3/runsync", {**DONE, "output": 6})
    assert asyncio.run(peer()) == 6


def test_a_peer_that_is_nowhere_is_named(edge: Edge) -> None:
    edge.graphql(answering({}))
    with pytest.raises(EndpointNotFoundError, match="'peer' was not found in app 'shop'"):
        asyncio.run(peer())


def test_a_service_that_fails_three_times_is_asked_a_fourth_time(edge: Edge) -> None:
    said = answering({"peer": "https://edge.example/v2/ep1"})
    failures: list[Any] = [Answer(500), Answer(429), Hangup()]
    edge.graphql(lambda document, variables: failures.pop(0) if failures else said(document, variables))
    edge.on(PEER, DONE)
    assert asyncio.run(peer()) == 5


def test_a_service_that_cannot_be_asked_is_said_to_be(edge: Edge) -> None:
    edge.graphql(lambda document, variables: Answer(500, {"error": "down"}))
    with pytest.raises(
        ManifestServiceUnavailableError, match="endpoints of environment env1 cannot be looked up: .*down"
    ):
        asyncio.run(peer())
    assert len(edge.seen("POST /graphql")) == 4


def test_a_worker_without_a_key_says_so(edge: Edge, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SVC_API_KEY")
    with pytest.raises(APIKeyError):
        asyncio.run(peer())


def test_addresses_are_kept_for_300_seconds_and_longer_while_the_service_fails(edge: Edge) -> None:
    now = 1000.0
    directory = PeerDirectory(clock=lambda: now, pauses_seconds=())
    connection = Connection(edge.url, "er_test")

    def address() -> str | None:
        return directory.address(connection, "env1", "peer")

    edge.graphql(answering({"peer": "first"}))
    assert address() == "first"
    edge.graphql(answering({"peer": "second"}))
    now += CACHE_SECONDS - 1
    assert address() == "first"
    now += 1
    assert address() == "second"
    edge.graphql(lambda document, variables: Answer(500))
    now += CACHE_SECONDS
    assert address() == "second"
    assert CACHE_SECONDS == 300
