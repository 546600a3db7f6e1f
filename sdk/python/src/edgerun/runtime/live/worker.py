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


def serve_live(environment: MutableMapping[str, str]) -> None:
    """Serves until SIGTERM. Raises StartError."""
    # What people print of the environment does not open their worker to others.
    token = environment.pop(_TOKEN_VARIABLE, "")
    live_peers.hold_token(token)
    with tempfile.TemporaryDirectory(prefix="edgerun-live-", ignore_cleanup_errors=True) as directory:
        sets = Path(directory).resolve()
        application = live_application(environment, sets)
        if application.is_load_balanced:
            from .routes import serve_routes

            serve_routes(application, token, environment)
        else:
            _serve_jobs(application, environment)


def _serve_jobs(application: LiveApplication, environment: MutableMapping[str, str]) -> None:
    main = MainThread()
    sources = Sources()
    code = LiveCode(application, sources, Packages(environment), main.run)
    handler = LiveHandler(application, code, sources, main)
    QueueWorker(handler, Agent(os.environ), application, main).run(environment)
