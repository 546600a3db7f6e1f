"""What discovery has to say to the person: a message, and the place that it is about."""

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
    """A warning or an error; `place` is None for what belongs to no file."""

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
    """Collects warnings and errors, each once, in the order in which they came."""

    def __init__(self) -> None:
        self.warnings: list[Note] = []
        self.errors: list[Note] = []

    def warn(self, place: Place | None, message: str) -> None:
        """Adds what the person should know."""
        _add(self.warnings, Note(place, message))

    def fail(self, place: Place | None, message: str) -> None:
        """Adds what must be put right before anything is built."""
        _add(self.errors, Note(place, message))

    def take(self) -> dict[str, list[dict[str, object]]]:
        """What was collected, in the shape of the report; begins anew."""
        taken = {
            "warnings": [note.as_json() for note in self.warnings],
            "errors": [note.as_json() for note in self.errors],
        }
        self.warnings.clear()
        self.errors.clear()
        return taken

    def copy(self) -> Notes:
        """Others with the same content."""
        other = Notes()
        other.warnings = list(self.warnings)
        other.errors = list(self.errors)
        return other


def _add(notes: list[Note], note: Note) -> None:
    if note not in notes:
        notes.append(note)
