"""Starts the worker that its environment describes."""

from __future__ import annotations

import os
import sys
import threading
from typing import NoReturn

from . import log
from .application import Application, current_application
from .failures import StartError
from .loading import load_handler_file, prepare_imports

# Seconds for what the app's modules have started to end, once the worker is done.
_END_S = 3.0


def main() -> int:
    """Serves until SIGTERM; returns the exit code, which is 1 when the worker cannot start."""
    log.write_lines_at_once()
    try:
        live = os.environ.get("FLASH_LIVE")
        if live == "true":
            return _serve_live()
        if live == "source":
            return _serve_source_calls()
        application = current_application()
        prepare_imports(application)
        if application.is_load_balanced:
            _serve_requests(application)
        else:
            _serve_jobs(application)
    except StartError as error:
        # Users are shown the last line that a worker prints before it ends.
        print(error, file=sys.stderr, flush=True)
        return 1
    return 0


def _serve_live() -> int:
    from .live.worker import serve_live

    return serve_live(os.environ)


def _serve_source_calls() -> int:
    from .source_calls import serve_source_calls

    return serve_source_calls(os.environ)


def _serve_jobs(application: Application) -> None:
    from .agent import Agent
    from .queue_worker import QueueWorker

    agent = Agent(os.environ)
    # From here on the time until the first poll is that of the handler.
    threading.Thread(target=agent.ping, args=([],), daemon=True).start()
    handler = _handler_of(application)
    if not callable(handler):
        raise StartError(
            f"The handler file of {application.name!r} has no function 'handler'. Run `flash deploy` again."
        )
    QueueWorker(handler, agent, application).run(os.environ)


def _handler_of(application: Application) -> object:
    if application.is_listed:
        from .handler import queue_handler

        return queue_handler(application.name)
    return getattr(load_handler_file(application), "handler", None)


def _serve_requests(application: Application) -> None:
    if application.is_listed:
        from .listed_api import serve_api

        serve_api(application, os.environ)
        return
    from .server.worker import serve

    serve(application, os.environ)


def _end(code: int) -> NoReturn:
    """Threads that the app's modules started would keep the process alive."""
    watch = threading.Timer(_END_S, os._exit, (code,))
    watch.daemon = True
    watch.start()
    sys.exit(code)


if __name__ == "__main__":
    _end(main())
