"""Apps and environments, as the `flash` command manages them."""

from __future__ import annotations

from dataclasses import dataclass

from .connection import find_connection
from .errors import FlashAppNotFoundError, FlashEnvironmentNotFoundError, GraphQLError
from .graphql import mutate, query
from .http_exchange import in_thread
from .lifecycle import managed_by

_NOT_FOUND = "APP_NOT_FOUND"

_APP = "query ($name: String) { flashAppByName(flashAppName: $name) { id } }"
_ENVIRONMENT = "query ($input: FlashEnvironmentByNameInput) { flashEnvironmentByName(input: $input) { id } }"
_CREATE_APP = "mutation ($input: CreateFlashAppInput) { createFlashApp(input: $input) { id } }"
_DELETE_APP = "mutation ($id: String) { deleteFlashApp(flashAppId: $id) }"
_CREATE_ENVIRONMENT = (
    "mutation ($input: CreateFlashEnvironmentInput) { createFlashEnvironment(input: $input) { id } }"
)
_DELETE_ENVIRONMENT = "mutation ($id: String) { deleteFlashEnvironment(flashEnvironmentId: $id) }"
_DEPLOY = (
    "mutation ($input: DeployBuildToEnvironmentInput) { deployBuildToEnvironment(input: $input) { id } }"
)


@dataclass(frozen=True)
class FlashApp:
    """An app of the account.

    Its methods belong to the `flash` command and raise FlashUsageError, which names the one to use.
    """

    id: str
    name: str

    @classmethod
    @managed_by("flash app create")
    async def create(cls, name: str) -> FlashApp:
        """Creates an app; `flash app create` does that."""
        return await in_thread(lambda: _create(name))

    @classmethod
    @managed_by("flash app create")
    async def get_or_create(cls, name: str) -> FlashApp:
        """The app of this name, created where it does not exist, as by `flash app create`."""
        return await in_thread(lambda: _find(name) or _create(name))

    @classmethod
    @managed_by("flash app create")
    async def create_environment_and_app(cls, name: str, environment_name: str) -> FlashApp:
        """Creates an app with an environment; `flash app create` and `flash deploy` do that."""
        return await in_thread(lambda: _create_environment(_find(name) or _create(name), environment_name))

    @classmethod
    @managed_by("flash app delete")
    async def delete(cls, name: str) -> None:
        """Deletes an app with all it has; `flash app delete` does that.

        Raises:
            FlashAppNotFoundError: There is no app with this name.
        """
        await in_thread(lambda: _delete(name))

    @managed_by("flash env create")
    async def create_environment(self, name: str) -> FlashApp:
        """Creates an environment; `flash env create` does that."""
        return await in_thread(lambda: _create_environment(self, name))

    @managed_by("flash env delete")
    async def delete_environment(self, name: str) -> None:
        """Deletes an environment with its endpoints; `flash env delete` does that.

        Raises:
            FlashEnvironmentNotFoundError: The app has no environment with this name.
        """
        await in_thread(lambda: _delete_environment(self, name))

    @managed_by("flash deploy")
    async def deploy_build_to_environment(self, build_id: str, environment_name: str) -> None:
        """Makes a build the active one of an environment; `flash deploy` does that.

        Raises:
            FlashEnvironmentNotFoundError: The app has no environment with this name.
        """
        await in_thread(lambda: _deploy(self, build_id, environment_name))


def _find(name: str) -> FlashApp | None:
    try:
        found = query(find_connection(), _APP, {"name": name})
    except GraphQLError as error:
        if error.code == _NOT_FOUND:
            return None
        raise
    return FlashApp(id=found["flashAppByName"]["id"], name=name)


def _create(name: str) -> FlashApp:
    created = mutate(find_connection(), _CREATE_APP, {"input": {"name": name}})
    return FlashApp(id=created["createFlashApp"]["id"], name=name)


def _delete(name: str) -> None:
    app = _find(name)
    if app is None:
        raise FlashAppNotFoundError(f"There is no app '{name}'.")
    mutate(find_connection(), _DELETE_APP, {"id": app.id})


def _create_environment(app: FlashApp, name: str) -> FlashApp:
    mutate(find_connection(), _CREATE_ENVIRONMENT, {"input": {"flashAppId": app.id, "name": name}})
    return app


def _environment_id(app: FlashApp, name: str) -> str:
    found = query(find_connection(), _ENVIRONMENT, {"input": {"flashAppId": app.id, "name": name}})
    if not found.get("flashEnvironmentByName"):
        raise FlashEnvironmentNotFoundError(f"App '{app.name}' has no environment '{name}'.")
    return str(found["flashEnvironmentByName"]["id"])


def _delete_environment(app: FlashApp, name: str) -> None:
    mutate(find_connection(), _DELETE_ENVIRONMENT, {"id": _environment_id(app, name)})


def _deploy(app: FlashApp, build_id: str, environment_name: str) -> None:
    environment_id = _environment_id(app, environment_name)
    mutate(
        find_connection(),
        _DEPLOY,
        {"input": {"flashEnvironmentId": environment_id, "flashBuildId": build_id}},
    )
