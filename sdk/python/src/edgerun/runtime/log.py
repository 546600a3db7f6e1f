"""Lines of the worker's log."""

from __future__ import annotations

import json
import os
import sys
from typing import Literal, TextIO

Level = Literal["DEBUG", "INFO", "WARNING", "ERROR"]

_RANKS: dict[str, int] = {"DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}


_tags_jobs = False


def tag_jobs() -> None:
    """Logs about jobs as JSON with the job's id, which is needed where jobs run concurrently."""
    global _tags_jobs
    _tags_jobs = True


def say(message: str, *, level: Level = "INFO", job_id: str | None = None) -> None:
    """Writes a line, or several, unless LOG_LEVEL is above its level."""
    if _RANKS[level] < _RANKS.get(os.environ.get("LOG_LEVEL", "INFO").upper(), 20):
        return
    if _tags_jobs and job_id is not None:
        message = json.dumps({"requestId": job_id, "message": message, "level": level}, ensure_ascii=False)
    text = message.rstrip("\n")
    sys.stderr.write(f"{text}\n")  # in one write: print() may interleave lines of threads
    sys.stderr.flush()


def write_lines_at_once() -> None:
    """Makes output line-buffered, also in Python processes that are started later."""
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    for stream in (sys.stdout, sys.stderr):
        _write_line_by_line(stream)


def _write_line_by_line(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(encoding="utf-8", errors="backslashreplace", line_buffering=True)
