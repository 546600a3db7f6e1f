"""The app of a live worker: an endpoint whose code comes with its calls."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from ...worker import LIVE_PREFIX
from ..application import Application, is_name
from ..failures import StartError
from .request import Code, LiveRequest


@dataclass(frozen=True)
class LiveApplication(Application):
    """`directory` holds the module sets, or is one of them; messages name files by their path in the project."""

    sets: Path = Path()

    @property
    def again(self) -> str:
        """Advice on how to send the code of the app to this worker again."""
        return "save: the next call runs it"

    @property
    def installs_packages(self) -> bool:
        """Whether what its code depends on is installed here, on its worker."""
        return True

    @property
    def logs_failures(self) -> bool:
        """Callers see errors in the terminal that shows the log."""
        return False

    def has_module(self, name: str) -> bool:
        """Whether a top-level module is of the app as it is imported now."""
        found = [Path(path) for path in map(str, sys.path) if path.startswith(f"{self.sets}{os.sep}")]
        return any((one / name).exists() or (one / f"{name}.py").exists() for one in found)

    def shown(self, text: str) -> str:
        """Replaces paths by the names under which users know the files."""
        return re.sub(f"{re.escape(str(self.sets))}/[^/]+/", "", text)

    def of(self, request: LiveRequest, directory: Path) -> LiveApplication:
        """The same with the code of a request, laid out in `directory`."""
        routes = {f"{one['method']} {one['path']}": one["function_name"] for one in request.routes}
        functions = _functions_of(request) if routes else [_function_of(request.code)]
        return replace(
            self, directory=directory, routes=routes, resource={**self.resource, "functions": functions}
        )


def _function_of(code: Code) -> Mapping[str, str]:
    return {"name": code.target_name or "", "module": code.module}


def _functions_of(request: LiveRequest) -> list[Mapping[str, str]]:
    return [
        {
            "name": one["function_name"],
            "module": one["module"],
            "http_method": one["method"],
            "http_path": one["path"],
        }
        for one in request.routes
    ]


def live_application(environment: Mapping[str, str], sets: Path) -> LiveApplication:
    """The endpoint of FLASH_RESOURCE_NAME, FLASH_ENDPOINT_TYPE and _FLASH_MAX_CONCURRENCY. Raises StartError."""
    name = environment.get("FLASH_RESOURCE_NAME", "").removeprefix(LIVE_PREFIX)
    if not is_name(name):
        raise StartError(f"FLASH_RESOURCE_NAME is {name!r}, which is no name of an endpoint.")
    kind = environment.get("FLASH_ENDPOINT_TYPE", "").lower() or "qb"
    if kind not in ("qb", "lb"):
        raise StartError(f"FLASH_ENDPOINT_TYPE is {kind!r}; it must be qb or lb.")
    text = environment.get("_FLASH_MAX_CONCURRENCY") or "1"
    if not text.isdecimal() or int(text) < 1:
        raise StartError(f"_FLASH_MAX_CONCURRENCY is {text!r}; it must be a number of jobs from 1 on.")
    return LiveApplication(
        name=name,
        directory=sets,
        resource={"is_load_balanced": kind == "lb", "max_concurrency": int(text)},
        routes={},
        excluded_packages=frozenset(),
        sets=sets,
    )
