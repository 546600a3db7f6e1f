"""The server of `flash dev` on this computer, for scripts that call functions in their current version."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import quote

from .dotenv import folders_upward, read_own_file, setting
from .project import script_folder
from .queue_api import QueueApi
from .worker import is_worker

VARIABLE = "FLASH_IS_LIVE_PROVISIONING"
ADDRESS_FILE = Path(".flash") / "dev.json"
"""Written by `flash dev`, with the keys `url` and `pid`."""
DEFAULT_PORT = 8888


def is_for_dev_server() -> bool:
    """Whether calls of this process go to `flash dev`."""
    return not is_worker() and (setting(VARIABLE) or "").strip().lower() == "true"


def dev_server_api(endpoint_name: str) -> QueueApi:
    """The queue of an endpoint at the dev server, which needs no key."""
    return QueueApi(f"{dev_server_url()}/{quote(endpoint_name, safe='')}", "")


def dev_server_url() -> str:
    """Its URL: from the file in the project of the script or of the working directory, else on this computer."""
    announced = announced_address()
    if announced is not None:
        return announced
    port = setting("FLASH_PORT") or str(DEFAULT_PORT)
    if not port.isdecimal() or not 0 < int(port) < 65_536:
        raise ValueError(f"FLASH_PORT={port!r} must be a port from 1 to 65535.")
    return f"http://localhost:{port}"


def announced_address() -> str | None:
    """The URL that the project's `flash dev` has stored; None where none runs."""
    for start in (script_folder(), Path.cwd()):
        for folder in folders_upward(start) if start else ():
            if url := _read_address(folder / ADDRESS_FILE):
                return url
    return None


def _read_address(file: Path) -> str | None:
    try:
        stored = json.loads(read_own_file(file) or "null")
    except ValueError:
        return None
    url, pid = (stored.get("url"), stored.get("pid")) if isinstance(stored, dict) else (None, None)
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        return None
    return url.rstrip("/") if pid is None or _is_running(pid) else None


def _is_running(pid: object) -> bool:
    """A server that was killed has left its file behind."""
    if not isinstance(pid, int) or pid < 1:
        return False
    if os.name == "nt":
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # of another user
        pass
    return True
