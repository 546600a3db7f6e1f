"""Resident discovery: after files have changed, it imports only the affected ones."""

from __future__ import annotations

import gc
import json
import os
import select
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .app import Outline, outline
from .forking import launch_for_this_system
from .groups import groups_of
from .importing import Group, Import, Imported
from .opened import state_of
from .sources import Parsed

PATIENCE_SECONDS = 10.0
"""After this time, an interim report leaves out files that are still being imported."""
_LOOK_SECONDS = 0.2
"""Interval between checks of the import."""
_USER_FILES = (".env",)
"""Files that declarations may depend on although their existence is checked without opening them."""


@dataclass(frozen=True)
class _Known:
    files: dict[str, str]
    """SHA-256 of all files that the group leads to, by path."""
    opened: dict[str, Any]
    imported: Imported


class Reader:
    """Reads one project repeatedly."""

    def __init__(self, root: Path) -> None:
        self.root = Path(os.path.abspath(root))
        self._parsed: dict[str, Parsed] = {}
        self._known: dict[Group, _Known] = {}
        self._begun: dict[Group, tuple[dict[str, str], float]] = {}
        """Groups that are being imported: their files, and since when."""

    def begin(self, files: list[str], timeout_seconds: float) -> Reading:
        """Parses changed files and starts to import them."""
        read = outline(self.root, files, self._parsed)
        groups = groups_of(read.graph, read.candidates.files)
        hashes = {path: parsed.sha256 for path, parsed in self._parsed.items()}
        needed = {group: {file: hashes[file] for file in sorted(theirs)} for group, theirs in groups.items()}
        user_files = {path: state_of(self.root / path) for path in _USER_FILES}
        self._known = {
            group: known
            for group, known in self._known.items()
            if group in needed and self._is_as_it_was(known, needed[group])
        }
        now = time.monotonic()
        self._begun = {
            group: self._begun[group] if self._is_begun(group, files) else (files, now)
            for group, files in needed.items()
            if group not in self._known
        }
        # Groups that are already delayed may be slow, so they come last.
        stale = sorted(self._begun, key=lambda group: -self._begun[group][1])
        return Reading(self, read, needed, user_files, stale, timeout_seconds)

    def _is_begun(self, group: Group, files: dict[str, str]) -> bool:
        return group in self._begun and self._begun[group][0] == files

    def patience_ends(self, groups: list[Group]) -> float:
        """When the patience for the last of these ends."""
        return max(self._begun[group][1] for group in groups) + PATIENCE_SECONDS

    def _is_as_it_was(self, known: _Known, files: dict[str, str]) -> bool:
        return known.files == files and all(
            state_of(self.root / path) == state for path, state in known.opened.items()
        )

    def remember(self, imported: Imported, files: dict[str, str], user_files: dict[str, Any]) -> None:
        """Stores the result of importing a group, valid while its files are unchanged."""
        self._known[imported.group] = _Known(files, {**user_files, **imported.opened}, imported)

    def known_of(self, groups: dict[Group, dict[str, str]]) -> Iterator[_Known]:
        """Known results of groups, in order."""
        return (self._known[group] for group in groups if group in self._known)

    def errors(self) -> list[dict[str, object]]:
        """Files that cannot be parsed, and why."""
        return [parsed.error.as_json() for parsed in self._parsed.values() if parsed.error is not None]


class Reading:
    """One reading in progress."""

    def __init__(
        self,
        reader: Reader,
        read: Outline,
        groups: dict[Group, dict[str, str]],
        user_files: dict[str, Any],
        stale: list[Group],
        timeout_seconds: float,
    ) -> None:
        self._reader = reader
        self._outline = read
        self._groups = groups
        self._user_files = user_files
        self._run = (
            Import(reader.root, read.files, stale, timeout_seconds, launch_for_this_system())
            if stale
            else None
        )

    @property
    def is_done(self) -> bool:
        """All groups are known or failed."""
        return self._run is None or self._run.is_done

    @property
    def patience_ends(self) -> float:
        """When an interim report is due."""
        pending = self._run.pending if self._run else []
        return self._reader.patience_ends(pending) if pending else 0.0

    def advance(self) -> None:
        """Stores what has been imported."""
        self._take_over(self._run.advance() if self._run else [])

    def wait(self) -> None:
        """Blocks until `advance` has something to do."""
        if self._run is not None:
            self._run.wait()

    def stop(self) -> None:
        """Abandons the reading."""
        if self._run is not None and not self._run.is_done:
            self._take_over(self._run.stop())

    def _take_over(self, found: list[Imported]) -> None:
        for imported in found:
            self._reader.remember(imported, self._groups[imported.group], self._user_files)

    def report(self) -> dict[str, Any]:
        """The current report, in the shape of `liveReportSchema`."""
        notes = self._outline.notes.copy()
        known = list(self._reader.known_of(self._groups))
        for one in known:
            one.imported.note_in(notes)
        declarations = [declaration for one in known for declaration in one.imported.declarations]
        pending = self._run.pending if self._run else []
        report = self._outline.report(declarations, notes, is_whole=not pending)
        return {
            **report,
            "faults": self._reader.errors(),
            "hashes": {file: sha256 for theirs in self._groups.values() for file, sha256 in theirs.items()},
            "groups": [sorted(self._groups[group]) for group in self._groups],
            "unread": sorted({file for group in pending for file in self._groups[group]}),
            "failure": self._run.failure if self._run else None,
            "opened": sorted({path for one in known for path in one.opened}),
        }


class Service:
    """Serves requests, one line of JSON each; a new one supersedes the previous one."""

    def __init__(self, requests: int, answers: int) -> None:
        self._requests = requests
        self._answers = answers
        self._rest = b""
        self._readers: dict[str, Reader] = {}
        self._reading: Reading | None = None
        self._id: object = None
        self._has_interim_report = False
        self._child_exits = _child_exit_pipe()

    def run(self) -> None:
        """Runs until the input ends."""
        while True:
            ready, _, _ = select.select([self._requests, self._child_exits], [], [], self._patience())
            if self._child_exits in ready:
                os.read(self._child_exits, 4096)
            if self._requests in ready and not self._take():
                return
            self._go_on()

    def stop(self) -> None:
        """Ends the current reading."""
        if self._reading is not None:
            self._reading.stop()
            self._reading = None

    def _patience(self) -> float | None:
        if self._reading is None or self._has_interim_report:
            return None
        return min(_LOOK_SECONDS, max(0.0, self._reading.patience_ends - time.monotonic()))

    def _take(self) -> bool:
        content = os.read(self._requests, 1 << 16)
        *lines, self._rest = (self._rest + content).split(b"\n")
        if lines:
            self._begin(json.loads(lines[-1]))
        return bool(content)

    def _begin(self, request: dict[str, Any]) -> None:
        self.stop()
        reader = self._readers.setdefault(request["root"], Reader(Path(request["root"])))
        self._id = request["id"]
        self._has_interim_report = False
        self._reading = reader.begin(request["files"], request["timeoutSeconds"])

    def _go_on(self) -> None:
        reading = self._reading
        if reading is None:
            return
        reading.advance()
        if reading.is_done:
            self._answer(reading, is_interim=False)
            self._reading = None
            gc.collect()
            gc.freeze()
        elif not self._has_interim_report and time.monotonic() >= reading.patience_ends:
            self._answer(reading, is_interim=True)
            self._has_interim_report = True

    def _answer(self, reading: Reading, *, is_interim: bool) -> None:
        answer = {**reading.report(), "id": self._id, "isInterim": is_interim}
        content = json.dumps(answer).encode() + b"\n"
        while content:
            content = content[os.write(self._answers, content) :]


def _child_exit_pipe() -> int:
    """A descriptor that becomes readable when a child has ended."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def serve(requests: int, answers: int) -> None:
    """Serves until `requests` ends, and then kills its process group.

    The client may be killed at any time, and no child may outlive it.
    """
    service = Service(requests, answers)
    try:
        service.run()
    finally:
        service.stop()
        if os.getpgrp() == os.getpid():
            os.killpg(0, signal.SIGKILL)


def read_once(request: dict[str, Any]) -> dict[str, Any]:
    """The response to one request, for systems without a resident process."""
    reading = Reader(Path(request["root"])).begin(request["files"], request["timeoutSeconds"])
    while not reading.is_done:
        reading.wait()
        reading.advance()
    return {**reading.report(), "id": request["id"], "isInterim": False}
