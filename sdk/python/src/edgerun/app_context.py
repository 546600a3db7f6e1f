"""The app and the environment whose functions a script calls."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from .dev_server import VARIABLE, announced_address
from .dotenv import folders_upward, read_own_file, setting
from .errors import AppContextError
from .project import script_folder

CONTEXT_FILE = Path(".flash") / "context.json"
"""Written by `flash deploy`, with the keys `app` and `environment`."""


@dataclass(frozen=True)
class AppContext:
    """An app and one of its environments, by name."""

    app: str
    environment: str


def find_app_context(endpoint_name: str) -> AppContext:
    """FLASH_APP and FLASH_ENV of the environment or of `.env`; else what the project was deployed as.

    The project is looked for upward from the script that runs, then from the working directory. FLASH_ENV alone
    chooses another environment of the project's app.

    Raises:
        AppContextError: No source names the app and the environment.
    """
    app, environment = setting("FLASH_APP"), setting("FLASH_ENV")
    if app and environment:
        return AppContext(app, environment)
    deployed = _deployed_context()
    if deployed is None or (app and app != deployed.app):
        missing = [name for name, value in (("FLASH_APP", app), ("FLASH_ENV", environment)) if not value]
        raise AppContextError(
            f"Endpoint '{endpoint_name}' cannot be called: its app and environment are unknown "
            f"({' and '.join(missing)} not set, no {CONTEXT_FILE.as_posix()} of a deployment found). "
            f"Use `flash dev` to try functions{_how()}, run this in a project after `flash deploy`, "
            "or set FLASH_APP and FLASH_ENV."
        )
    return AppContext(deployed.app, environment or deployed.environment)


def _how() -> str:
    url = announced_address()
    return "" if url is None else f" (it runs at {url}: set {VARIABLE}=true to call them there)"


def _deployed_context() -> AppContext | None:
    for start in (script_folder(), Path.cwd()):
        for folder in folders_upward(start) if start else ():
            if context := _read_context(folder / CONTEXT_FILE):
                return context
    return None


def _read_context(file: Path) -> AppContext | None:
    try:
        stored = json.loads(read_own_file(file) or "null")
    except ValueError:
        return None
    if not isinstance(stored, dict):
        return None
    app, environment = stored.get("app"), stored.get("environment")
    if isinstance(app, str) and isinstance(environment, str) and app and environment:
        return AppContext(app, environment)
    return None
