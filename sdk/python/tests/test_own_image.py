"""Endpoints of own images: found by name, or made on their first call."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from edge import Edge

from edgerun import (
    Endpoint,
    EndpointNotFoundError,
    GpuGroup,
    GraphQLMutationError,
    NetworkVolume,
    PodTemplate,
)
from edgerun.lifecycle import lifecycle_allowed

JOB = {"id": "j1", "status": "COMPLETED", "output": 1}


class Account:
    """The endpoints of an account, as GraphQL changes them."""

    def __init__(self, *endpoints: dict[str, Any]) -> None:
        self.endpoints = list(endpoints)
        self.saved: list[dict[str, Any]] = []
        self.templates: list[dict[str, Any]] = []

    def __call__(self, document: str, variables: dict[str, Any]) -> Any:
        if "saveEndpoint" in document:
            self.saved.append(variables["input"])
            id = variables["input"].get("id", "new1")
            self.endpoints.append({"id": id, "name": variables["input"]["name"], "type": "QB"})
            return {"saveEndpoint": {"id": id, "templateId": "t1"}}
        if "saveTemplate" in document:
            self.templates.append(variables["input"])
            return {"saveTemplate": {"id": "t1"}}
        if "deleteEndpoint" in document:
            self.endpoints = [one for one in self.endpoints if one["id"] != variables["id"]]
            return {"deleteEndpoint": None}
        return {"myself": {"endpoints": self.endpoints}}


def worker(**parameters: Any) -> Endpoint:
    return Endpoint(name="llm", image="me/llm:1", **{"gpu": GpuGroup.ADA_24, **parameters})


def test_an_endpoint_of_this_name_is_used(edge: Edge) -> None:
    account = Account(
        {"id": "old0", "name": "other", "type": "QB"}, {"id": "old1", "name": "llm", "type": "QB"}
    )
    edge.graphql(account)
    edge.on("POST /v2/old1/runsync", JOB)
    assert asyncio.run(worker().runsync({"a": 1})).output == 1
    assert account.saved == []


def test_without_one_it_is_made_on_the_first_call_and_once(edge: Edge) -> None:
    account = Account()
    edge.graphql(account)
    edge.on("POST /v2/new1/runsync", JOB)
    endpoint = worker(
        workers=(1, 2),
        datacenter=["EU-RO-1", "US-KS-2", "US-CA-2"],
        env={"A": "1", "B": "2"},
        template=PodTemplate(env={"A": "0", "C": "3"}, dockerArgs="serve"),
    )

    async def calls() -> None:
        await asyncio.gather(endpoint.runsync({}), endpoint.runsync({}))
        await endpoint.runsync({})

    asyncio.run(calls())
    assert len(edge.seen("POST /graphql")) == 2  # Looked for, and made.
    (saved,) = account.saved
    assert saved == {
        "name": "llm",
        "type": "QB",
        "gpuIds": "ADA_24",
        "gpuCount": 1,
        "minCudaVersion": "12.8",
        "workersMin": 1,
        "workersMax": 2,
        "idleTimeout": 60,
        "executionTimeoutMs": 0,
        "scalerType": "QUEUE_DELAY",
        "scalerValue": 4,
        "flashBootType": "FLASHBOOT",
        "locations": "RO,US",
        "template": {
            "name": "llm__image",
            "imageName": "me/llm:1",
            "containerDiskInGb": 64,
            "dockerArgs": "serve",
            "env": [{"key": "A", "value": "1"}, {"key": "C", "value": "3"}, {"key": "B", "value": "2"}],
        },
    }


def test_nothing_is_made_before_the_first_call(edge: Edge) -> None:
    worker()
    assert edge.requests == []


def test_one_that_is_called_by_paths_is_load_balanced(edge: Edge) -> None:
    account = Account()
    edge.graphql(account)
    edge.on("POST /lb/new1/v1/completions", {"text": "x"})
    endpoint = worker(gpu=None, cpu="cpu3c-1-2")

    async def ask() -> Any:
        return await endpoint.post("/v1/completions", {"prompt": "a"})

    assert asyncio.run(ask()) == {"text": "x"}
    assert account.saved[0]["type"] == "LB"
    assert account.saved[0]["scalerType"] == "REQUEST_COUNT"
    assert account.saved[0]["instanceIds"] == ["cpu3c-1-2"]


def test_its_volumes_are_found_by_name_and_place_or_made(edge: Edge) -> None:
    account = Account()
    edge.graphql(account)
    edge.on(
        "GET /v1/networkvolumes", [{"id": "v1", "name": "models", "size": 100, "dataCenterId": "EU-RO-1"}]
    )
    edge.on("POST /v1/networkvolumes", {"id": "v2"})
    edge.on("POST /v2/new1/runsync", JOB)
    volumes = [
        NetworkVolume("models"),
        NetworkVolume("models", datacenter="US-KS-2"),
        NetworkVolume(id="v3", datacenter="EU-CZ-1"),
    ]
    asyncio.run(worker(volume=volumes).runsync({}))
    assert [one["networkVolumeId"] for one in account.saved[0]["networkVolumeIds"]] == ["v1", "v2", "v3"]
    assert [seen.body for seen in edge.seen("POST /v1/networkvolumes")] == [
        {"name": "models", "size": 100, "dataCenterId": "US-KS-2"}
    ]


def test_an_error_response_is_reported_with_its_code(edge: Edge) -> None:
    def refuses(document: str, variables: dict[str, Any]) -> Any:
        return {"myself": {"endpoints": []}}

    edge.graphql(refuses)
    edge.on(
        "POST /graphql",
        {"data": {"myself": {"endpoints": []}}},
        {"data": None, "errors": [{"message": "no quota", "extensions": {"code": "QUOTA"}}]},
    )
    with pytest.raises(GraphQLMutationError, match="no quota") as it:
        asyncio.run(worker().run({}))
    assert it.value.code == "QUOTA"


def test_within_the_command_it_can_be_deployed_updated_and_deleted(edge: Edge) -> None:
    account = Account()
    edge.graphql(account)
    endpoint = worker()

    async def life() -> None:
        with lifecycle_allowed():
            assert await endpoint.deploy() == "new1"
            assert await endpoint.update() == "new1"
            await endpoint.undeploy()

    asyncio.run(life())
    assert account.saved[1]["id"] == "new1"
    assert account.templates[0]["id"] == "t1"
    assert account.templates[0]["imageName"] == "me/llm:1"
    assert account.saved[2]["workersMax"] == 0
    assert account.endpoints == []


def test_what_is_not_there_cannot_be_deleted(edge: Edge) -> None:
    edge.graphql(Account())

    async def delete() -> None:
        with lifecycle_allowed():
            await worker().undeploy()

    with pytest.raises(EndpointNotFoundError, match="There is no endpoint 'llm'"):
        asyncio.run(delete())
