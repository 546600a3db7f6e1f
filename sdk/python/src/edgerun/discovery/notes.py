"""Warnings and errors of discovery, with their places."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, order=True)
class Place:
    """A line of a file; the path is relative to the project, lines count from 1."""

    file: str
    line: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True)
class Note:
    """A warning or an error; `place` is None for what concerns no file."""

    place: Place | None
    message: str

    def as_json(self) -> dict[str, object]:
        """The shape of the report."""
        return {
            "file": self.place.file if self.place else None,
            "line": self.place.line if self.place else None,
            "message": self.message,
        }


class Notes:
    """Collects warnings and errors in order, without duplicates."""

    def __init__(self) -> None:
        self.warnings: list[Note] = []
        self.errors: list[Note] = []

    def warn(self, place: Place | None, message: str) -> None:
        """Adds a warning."""
        _add(self.warnings, Note(place, message))

    def fail(self, place: Place | None, message: str) -> None:
        """Adds an error, which prevents a build."""
        _add(self.errors, Note(place, message))

    def take(self) -> dict[str, list[dict[str, object]]]:
        """Answers what was collected, in the shape of the report, and clears it."""
        taken = {
            "warnings": [note.as_json() for note in self.warnings],
            "errors": [note.as_json() for note in self.errors],
        }
        self.warnings.clear()
        self.errors.clear()
        return taken

    def copy(self) -> Notes:
        """A copy."""
        other = Notes()
        other.warnings = list(self.warnings)
        other.errors = list(self.errors)
        return other


def _add(notes: list[Note], note: Note) -> None:
    if note not in notes:
        notes.append(note)
