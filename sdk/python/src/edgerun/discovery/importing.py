"""Runs the process that imports candidates; starts it again without those that hang or end it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from . import recorder
from .notes import Notes, Place

_BOOTSTRAP = (
    "import sys; sys.path[:1] = sys.path[:1] if sys.path[0] else []; sys.path.append(sys.argv[2]);"
    "from pathlib import Path; from edgerun.discovery.recorder import main; main(Path(sys.argv[1]))"
)
"""Puts the project behind Python's own modules, since it may have a types.py."""
_HOME = str(Path(__file__).parents[2])
"""The directory of the package."""
NOT_FOR_APPS = ("RUNPOD_ENDPOINT_ID", "RUNPOD_POD_ID", "FLASH_RESOURCE_NAME")
"""Variables by which the SDK detects a worker."""

Group = tuple[str, ...]
"""Candidates that are imported by the same process, one after the other."""


class Process(Protocol):
    """The used part of `subprocess.Popen`."""

    def poll(self) -> int | None:
        """Its exit code, when it has ended."""

    def wait(self) -> int:
        """Its exit code, once it has ended."""

    def kill(self) -> None:
        """Ends it."""


Launch = Callable[[Path, Path], Process]
"""Starts the recorder in the project, with the directory of its request."""


def launch_interpreter(root: Path, directory: Path) -> Process:
    """Runs the recorder in a new interpreter."""
    return subprocess.Popen(
        [sys.executable, "-X", "utf8", "-c", _BOOTSTRAP, str(directory), _HOME],
        cwd=root,
        env={name: value for name, value in os.environ.items() if name not in NOT_FOR_APPS},
        stdin=subprocess.DEVNULL,
        stdout=sys.stderr.fileno(),  # Keeps output of the app out of the report.
    )


@dataclass(frozen=True)
class Imported:
    """The result of importing a group."""

    group: Group
    declarations: list[dict[str, Any]] = field(default_factory=list)
    """From `declared.describe`."""
    warnings: list[dict[str, Any]] = field(default_factory=list)
    errors: list[dict[str, Any]] = field(default_factory=list)
    opened: dict[str, Any] = field(default_factory=dict)

    def note_in(self, notes: Notes) -> None:
        """Adds its warnings and errors to others."""
        for kind, add in ((self.warnings, notes.warn), (self.errors, notes.fail)):
            for note in kind:
                add(Place(note["file"], note["line"]) if note["file"] else None, note["message"])


class Import:
    """Imports groups of candidates; call `advance` until it is done."""

    def __init__(
        self,
        root: Path,
        files: Iterable[str],
        groups: Iterable[Group],
        timeout_seconds: float,
        launch: Launch,
    ) -> None:
        self.root = root
        self.pending = list(groups)
        """Groups that have not been imported, in order."""
        self.failure: str | None = None
        """Why the rest could not be imported."""
        self._files = sorted(files)
        self._timeout_seconds = timeout_seconds
        self._launch = launch
        self._given_up: dict[str, str] = {}
        self._start()

    @property
    def is_done(self) -> bool:
        """Nothing more will come."""
        return not self.pending or self.failure is not None

    def wait(self) -> None:
        """Blocks until `advance` has something to do."""
        self._process.wait()

    def advance(self) -> list[Imported]:
        """New results since the last call; restarts a process that ended too early."""
        code = self._process.poll()
        found = self._answers()
        if code is not None and self.pending:
            self._go_on(code)
        if self.is_done:
            found += self.stop()
        return found

    def stop(self) -> list[Imported]:
        """Ends the process; answers new results since the last call."""
        self._process.kill()
        self._process.wait()
        found = self._answers()
        self._place.cleanup()
        return found

    def _start(self) -> None:
        self._place = tempfile.TemporaryDirectory(prefix="flash-discovery-")
        self._directory = Path(self._place.name)
        self._read_bytes = 0
        order = {
            "root": str(self.root),
            "files": self._files,
            "groups": self.pending,
            "given_up": self._given_up,
            "timeout_seconds": self._timeout_seconds,
        }
        (self._directory / recorder.ORDER).write_text(json.dumps(order), "utf-8")
        self._process = self._launch(self.root, self._directory)

    def _answers(self) -> list[Imported]:
        path = self._directory / recorder.ANSWERS
        if not path.exists():
            return []
        with open(path, "rb") as file:
            file.seek(self._read_bytes)
            content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        self._read_bytes += len(whole)
        found = [self._imported(json.loads(line)) for line in whole.splitlines()]
        done = {one.group for one in found}
        self.pending = [group for group in self.pending if group not in done]
        return found

    def _imported(self, answer: dict[str, Any]) -> Imported:
        for note in [*answer["warnings"], *answer["errors"]]:
            note["message"] = note["message"].replace(f"{self.root}{os.sep}", "")
        return Imported(**{**answer, "group": tuple(answer["group"])})

    def _go_on(self, code: int) -> None:
        file = _under_way(self._directory)
        if file is None or file in self._given_up:
            self.failure = f"the process that imports the app's files ended unexpectedly (exit code {code})."
            return
        self._given_up[file] = self._why(code)
        self._place.cleanup()
        self._start()

    def _why(self, code: int) -> str:
        stack = (self._directory / recorder.STACK).read_text("utf-8", errors="replace")
        if not stack.strip():
            return f"its code ended the process (exit code {code})"
        for match in re.finditer(r'File "([^"\n]+)", line (\d+)', stack):
            place = Path(match[1])
            if place.is_relative_to(self.root) and place.relative_to(self.root).as_posix() in self._files:
                where = f", at {place.relative_to(self.root).as_posix()}:{match[2]}"
                break
        else:
            where = ""
        return (
            f"it took longer than {self._timeout_seconds:g} s{where}. Code at module level may block: "
            'put it into a function, or under `if __name__ == "__main__":`'
        )


def import_candidates(
    root: Path,
    files: Iterable[str],
    candidates: list[str],
    timeout_seconds: float,
    launch: Launch,
    notes: Notes,
) -> list[dict[str, Any]]:
    """Imports all candidates in one process, and answers their declarations."""
    if not candidates:
        return []
    run = Import(root, files, [tuple(candidates)], timeout_seconds, launch)
    found: list[Imported] = []
    while not run.is_done:
        run.wait()
        found += run.advance()
    if run.failure is not None:
        notes.fail(None, run.failure)
    for imported in found:
        imported.note_in(notes)
    return [declaration for imported in found for declaration in imported.declarations]


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
