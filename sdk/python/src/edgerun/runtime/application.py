"""The app that a worker serves, and which of its endpoints."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .failures import StartError

DEFAULT_DIRECTORY = "/app"
_MANIFEST_FILE = "flash_manifest.json"
# Of clients that list the resources of an app; their packages lie in a directory of their own.
_LISTED_MANIFEST_FILE = "runpod_manifest.json"
_LISTED_PACKAGES = "env"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")
_ADVICE = "Run `flash deploy` again."


@dataclass(frozen=True)
class Application:
    """One endpoint of an app, as its manifest has it."""

    name: str
    directory: Path
    resource: Mapping[str, Any]
    routes: Mapping[str, str]
    excluded_packages: frozenset[str]

    @property
    def is_load_balanced(self) -> bool:
        return bool(self.resource.get("is_load_balanced", False))

    @property
    def max_concurrency(self) -> int:
        """Jobs that run at a time."""
        value = self.resource.get("max_concurrency", 1)
        return value if isinstance(value, int) and value > 0 else 1

    @property
    def again(self) -> str:
        """Advice on how to send the code of the app to this worker again."""
        return "run `flash deploy` again"

    @property
    def installs_packages(self) -> bool:
        """Whether what its code depends on is installed here, on its worker."""
        return False

    @property
    def logs_failures(self) -> bool:
        """Whether the log reports why a call has failed; not needed where the caller sees both log and error."""
        return True

    def has_module(self, name: str) -> bool:
        """Whether a top-level module belongs to the app."""
        return (self.directory / name).exists() or (self.directory / f"{name}.py").exists()

    def shown(self, text: str) -> str:
        """Replaces paths by the names under which users know the files."""
        return text

    @property
    def packages_directory(self) -> Path | None:
        """Where its packages are, if not among its own files."""
        return self.directory / _LISTED_PACKAGES if self.is_listed else None

    @property
    def is_listed(self) -> bool:
        """Whether its manifest lists resources: then it has no handler files."""
        return self.resource.get("is_listed") is True

    @property
    def functions(self) -> list[Mapping[str, Any]]:
        functions = self.resource.get("functions", [])
        return [one for one in functions if isinstance(one, dict)] if isinstance(functions, list) else []


def read_application(environment: Mapping[str, str], endpoint: str | None = None) -> Application:
    """The app of FLASH_APP_DIRECTORY and its endpoint FLASH_RESOURCE_NAME. Raises StartError."""
    name = endpoint or environment.get("FLASH_RESOURCE_NAME", "")
    if not name:
        raise StartError(
            f"FLASH_RESOURCE_NAME is not set, so it is not known which endpoint to serve. {_ADVICE}"
        )
    if not is_name(name):
        raise StartError(f"FLASH_RESOURCE_NAME is {name!r}, which is no name of an endpoint. {_ADVICE}")
    directory = Path(environment.get("FLASH_APP_DIRECTORY") or DEFAULT_DIRECTORY).resolve()
    path = Path(environment.get("FLASH_MANIFEST_PATH") or directory / _MANIFEST_FILE)
    listed = directory / _LISTED_MANIFEST_FILE
    is_listed = not path.exists() and listed.exists()
    manifest = _read_listed(listed) if is_listed else _read_manifest(path)
    resource = _member(manifest, "resources", path).get(name)
    if not isinstance(resource, dict):
        known = ", ".join(_member(manifest, "resources", path)) or "none"
        raise StartError(f"{path} has no endpoint {name!r}; it has: {known}. {_ADVICE}")
    _check_kind(name, resource, environment.get("FLASH_ENDPOINT_TYPE", ""))
    routes = manifest.get("routes")
    own_routes = routes.get(name) if isinstance(routes, dict) else None
    excluded = manifest.get("excluded_packages")
    return Application(
        name=name,
        directory=directory,
        resource=resource,
        routes=own_routes if isinstance(own_routes, dict) else {},
        excluded_packages=frozenset(excluded if isinstance(excluded, list) else []),
    )


def is_name(name: str) -> bool:
    """Whether endpoints may be called so."""
    return _NAME.fullmatch(name) is not None


def _read_listed(path: Path) -> dict[str, Any]:
    """In the form of the other manifest, as far as workers need it."""
    manifest = _read_manifest(path)
    found = manifest.get("resources")
    resources = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    by_name = {str(one.get("name")): one for one in resources}
    return {
        "resources": {name: _listed_resource(one) for name, one in by_name.items()},
        "routes": {name: _listed_routes(one) for name, one in by_name.items()},
    }


def _listed_resource(resource: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "is_listed": True,
        "is_load_balanced": resource.get("kind") == "api",
        "max_concurrency": resource.get("maxConcurrency", 1),
        "functions": [{"name": resource.get("qualname"), "module": resource.get("module")}],
    }


def _listed_routes(resource: Mapping[str, Any]) -> dict[str, str]:
    """Method and path of each route, and the method of the class that answers it."""
    found = resource.get("routes")
    routes = [one for one in found if isinstance(one, dict)] if isinstance(found, list) else []
    return {f"{one.get('method')} {one.get('path')}": str(one.get("handler")) for one in routes}


def _read_manifest(path: Path) -> dict[str, Any]:
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise StartError(f"{path} is missing: the app's files are not there. {_ADVICE}") from None
    except (OSError, ValueError) as error:
        raise StartError(f"{path} cannot be read: {error}. {_ADVICE}") from None
    if not isinstance(manifest, dict):
        raise StartError(f"{path} is no JSON object. {_ADVICE}")
    return manifest


def _member(manifest: Mapping[str, Any], key: str, path: Path) -> dict[str, Any]:
    value = manifest.get(key)
    if not isinstance(value, dict):
        raise StartError(f"{path} has no {key!r}. {_ADVICE}")
    return value


def _check_kind(name: str, resource: Mapping[str, Any], kind: str) -> None:
    is_load_balanced = bool(resource.get("is_load_balanced", False))
    if kind.lower() not in ("", "qb", "lb"):
        raise StartError(f"FLASH_ENDPOINT_TYPE is {kind!r}; it must be qb or lb.")
    if kind and (kind.lower() == "lb") != is_load_balanced:
        is_kind = "load-balanced" if is_load_balanced else "queue-based"
        raise StartError(
            f"FLASH_ENDPOINT_TYPE is {kind!r}, but the endpoint {name!r} is {is_kind}. {_ADVICE}"
        )


_current: Application | None = None


def current_application(endpoint: str | None = None) -> Application:
    """The app of this process; its manifest is read once. Raises StartError."""
    global _current
    if _current is None or (endpoint is not None and endpoint != _current.name):
        _current = read_application(os.environ, endpoint)
    return _current
