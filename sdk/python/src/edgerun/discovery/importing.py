"""Runs the process that imports candidates, again without those that hang it or end it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import recorder
from .notes import Notes, Place

_BOOTSTRAP = (
    "import sys; sys.path[:1] = sys.path[:1] if sys.path[0] else []; sys.path.append(sys.argv[2]);"
    "from pathlib import Path; from edgerun.discovery.recorder import main; main(Path(sys.argv[1]))"
)
"""The project must not come before Python's own modules yet: it may have a types.py."""
_HOME = str(Path(__file__).parents[2])
"""Where the package itself lies."""
_NOT_FOR_APPS = ("RUNPOD_ENDPOINT_ID", "RUNPOD_POD_ID", "FLASH_RESOURCE_NAME")
"""What makes the SDK believe that it runs in a worker."""


@dataclass
class _Order:
    root: Path
    files: list[str]
    candidates: list[str]
    timeout_seconds: float
    given_up: dict[str, str] = field(default_factory=dict)


def import_candidates(
    root: Path, files: Iterable[str], candidates: list[str], timeout_seconds: float, notes: Notes
) -> list[dict[str, Any]]:
    """Imports each candidate and answers what `declared.describe` says of the recorded declarations."""
    if not candidates:
        return []
    order = _Order(root, sorted(files), candidates, timeout_seconds)
    while True:
        with tempfile.TemporaryDirectory(prefix="flash-discovery-") as directory:
            code = _run(order, Path(directory))
            answer = Path(directory, recorder.ANSWER)
            if answer.exists():
                return _read(root, json.loads(answer.read_text("utf-8")), notes)
            file = _under_way(Path(directory))
            if file is None or file in order.given_up:
                notes.fail(
                    None, f"the process that imports the app's files ended unexpectedly (exit code {code})."
                )
                return []
            order.given_up[file] = _why(order, Path(directory), code)


def _run(order: _Order, directory: Path) -> int:
    request = {
        "root": str(order.root),
        "files": order.files,
        "candidates": order.candidates,
        "given_up": order.given_up,
        "timeout_seconds": order.timeout_seconds,
    }
    (directory / recorder.ORDER).write_text(json.dumps(request), "utf-8")
    process = subprocess.run(
        [sys.executable, "-X", "utf8", "-c", _BOOTSTRAP, str(directory), _HOME],
        cwd=order.root,
        env={name: value for name, value in os.environ.items() if name not in _NOT_FOR_APPS},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),  # What the app prints belongs to nobody's report.
        check=False,
    )
    return process.returncode


def _read(root: Path, answer: dict[str, Any], notes: Notes) -> list[dict[str, Any]]:
    for kind, add in (("warnings", notes.warn), ("errors", notes.fail)):
        for note in answer[kind]:
            message = note["message"].replace(f"{root}{os.sep}", "")
            add(Place(note["file"], note["line"]) if note["file"] else None, message)
    declarations: list[dict[str, Any]] = answer["declarations"]
    return declarations


def _under_way(directory: Path) -> str | None:
    """The innermost file whose code was running."""
    path = directory / recorder.UNDER_WAY
    running: list[str] = []
    for line in path.read_text("utf-8").splitlines() if path.exists() else []:
        if line:
            running.append(line)
        elif running:
            running.pop()
    return running[-1] if running else None


def _why(order: _Order, directory: Path, code: int) -> str:
    stack = (directory / recorder.STACK).read_text("utf-8", errors="replace")
    if not stack.strip():
        return f"its code ended the process (exit code {code})"
    for match in re.finditer(r'File "(.+)", line (\d+)', stack):
        place = Path(match[1])
        if place.is_relative_to(order.root) and place.relative_to(order.root).as_posix() in order.files:
            where = f", at {place.relative_to(order.root).as_posix()}:{match[2]}"
            break
    else:
        where = ""
    return (
        f"it took longer than {order.timeout_seconds:g} s{where}. Code at module level may block: "
        'put it into a function, or under `if __name__ == "__main__":`'
    )
