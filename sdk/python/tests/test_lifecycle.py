"""What belongs to the flash command says so."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from edge import Edge

from edgerun import (
    Endpoint,
    FlashApp,
    FlashAppNotFoundError,
    FlashEnvironmentNotFoundError,
    FlashUsageError,
    NetworkVolume,
    ResourceManager,
)
from edgerun.lifecycle import lifecycle_allowed

APP = FlashApp(id="a1", name="shop")
ENDPOINT = Endpoint(name="a")

GUARDED: list[tuple[str, Callable[[], Any], str]] = [
    ("Endpoint.deploy", lambda: ENDPOINT.deploy(), "flash deploy"),
    ("Endpoint.update", lambda: ENDPOINT.update(), "flash update"),
    ("Endpoint.undeploy", lambda: ENDPOINT.undeploy(), "flash undeploy"),
    ("NetworkVolume.deploy", lambda: NetworkVolume("a").deploy(), "flash deploy"),
    ("ResourceManager.deploy", lambda: ResourceManager().deploy(ENDPOINT), "flash deploy"),
    ("ResourceManager.update", lambda: ResourceManager().update(ENDPOINT), "flash update"),
    ("ResourceManager.undeploy", lambda: ResourceManager().undeploy(ENDPOINT), "flash undeploy"),
    ("FlashApp.create", lambda: FlashApp.create("shop"), "flash app create"),
    ("FlashApp.get_or_create", lambda: FlashApp.get_or_create("shop"), "flash app create"),
    (
        "FlashApp.create_environment_and_app",
        lambda: FlashApp.create_environment_and_app("shop", "staging"),
        "flash app create",
    ),
    ("FlashApp.delete", lambda: FlashApp.delete("shop"), "flash app delete"),
    ("FlashApp.create_environment", lambda: APP.create_environment("staging"), "flash env create"),
    ("FlashApp.delete_environment", lambda: APP.delete_environment("staging"), "flash env delete"),
    (
        "FlashApp.deploy_build_to_environment",
        lambda: APP.deploy_build_to_environment("b1", "staging"),
        "flash deploy",
    ),
]


@pytest.mark.parametrize(("method", "call", "command"), GUARDED, ids=[case[0] for case in GUARDED])
def test_it_names_itself_the_command_and_why(
    edge: Edge, method: str, call: Callable[[], Any], command: str
) -> None:
    with pytest.raises(FlashUsageError) as it:
        call()
    assert str(it.value).startswith(
        f"{method}() is managed by the flash command line. Run `{command}` instead."
    )
    assert "bypass the build, the manifest and the tracking" in str(it.value)
    assert edge.requests == []


def test_what_is_allowed_is_allowed_within_its_block_only(edge: Edge) -> None:
    edge.graphql(lambda document, variables: {"createFlashApp": {"id": "a2"}})

    async def create() -> FlashApp:
        with lifecycle_allowed():
            return await FlashApp.create("shop")

    assert asyncio.run(create()) == FlashApp(id="a2", name="shop")
    with pytest.raises(FlashUsageError):
        FlashApp.create("shop")


def test_apps_and_environments_are_looked_up_by_name(edge: Edge) -> None:
    asked: list[Any] = []

    def answer(document: str, variables: dict[str, Any]) -> Any:
        asked.append(variables)
        if "flashAppByName" in document:
            return {"flashAppByName": {"id": "a1"}}
        return {"flashEnvironmentByName": {"id": "e1"}, "deployBuildToEnvironment": {"id": "e1"}}

    edge.graphql(answer)

    async def use() -> None:
        with lifecycle_allowed():
            assert await FlashApp.get_or_create("shop") == APP
            await APP.create_environment("staging")
            await APP.deploy_build_to_environment("b1", "staging")
            await APP.delete_environment("staging")
            await FlashApp.delete("shop")

    asyncio.run(use())
    named = {"input": {"flashAppId": "a1", "name": "staging"}}
    assert asked == [
        {"name": "shop"},
        named,
        named,
        {"input": {"flashEnvironmentId": "e1", "flashBuildId": "b1"}},
        named,
        {"id": "e1"},
        {"name": "shop"},
        {"id": "a1"},
    ]


def test_what_there_is_not_is_named(edge: Edge) -> None:
    edge.on(
        "POST /graphql",
        {"data": None, "errors": [{"message": "app not found", "extensions": {"code": "APP_NOT_FOUND"}}]},
        {"data": {"flashEnvironmentByName": None}},
    )

    async def delete(it: Callable[[], Any]) -> None:
        with lifecycle_allowed():
            await it()

    with pytest.raises(FlashAppNotFoundError, match="no app 'shop'"):
        asyncio.run(delete(lambda: FlashApp.delete("shop")))
    with pytest.raises(FlashEnvironmentNotFoundError, match="App 'shop' has no environment 'staging'"):
        asyncio.run(delete(lambda: APP.delete_environment("staging")))
