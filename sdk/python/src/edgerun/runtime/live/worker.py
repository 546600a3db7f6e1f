"""Starts a live worker."""

from __future__ import annotations

import os
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

from ... import live_peers
from ..agent import Agent
from ..queue_worker import QueueWorker
from .application import LiveApplication, live_application
from .code import LiveCode
from .main_thread import MainThread
from .packages import Packages
from .queue_jobs import LiveHandler
from .sources import Sources

_TOKEN_VARIABLE = "FLASH_LIVE_TOKEN"
# With this exit code the agent starts the worker again at once, and does not take its end for a failure.
_RESTART_EXIT_CODE = 75


def serve_live(environment: MutableMapping[str, str]) -> int:
    """Serves until SIGTERM, or until the code needs a fresh process; returns the exit code. Raises StartError."""
    # The token is removed from the environment, so that code which prints its environment does not reveal it.
    token = environment.pop(_TOKEN_VARIABLE, "")
    live_peers.hold_token(token)
    with tempfile.TemporaryDirectory(prefix="edgerun-live-", ignore_cleanup_errors=True) as directory:
        sets = Path(directory).resolve()
        application = live_application(environment, sets)
        packages = Packages(environment)
        if application.is_load_balanced:
            from .routes import serve_routes

            serve_routes(application, token, packages, environment)
        else:
            _serve_jobs(application, packages, environment)
    return _RESTART_EXIT_CODE if packages.is_spent else 0


def _serve_jobs(
    application: LiveApplication, packages: Packages, environment: MutableMapping[str, str]
) -> None:
    main = MainThread()
    sources = Sources()
    code = LiveCode(application, sources, packages, main.run)
    handler = LiveHandler(application, code, sources, main)
    QueueWorker(handler, Agent(os.environ), application, main).run(environment)
