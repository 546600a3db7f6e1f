"""Small apps on disk, and what discovery says of them."""

from __future__ import annotations

import sys
import textwrap
from collections.abc import Callable, Iterable
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from edgerun.discovery.app import discover

Report = dict[str, Any]


class App:
    """A project in a directory of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, **files: str) -> App:
        """Writes files: `sub__my_worker` is sub/my_worker.py."""
        return self.add({f"{name.replace('__', '/')}.py": text for name, text in files.items()})

    def add(self, files: dict[str, str]) -> App:
        """Writes files by their paths."""
        for path, text in files.items():
            target = self.root / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(textwrap.dedent(text), "utf-8")
        return self

    def files(self, without: Iterable[str] = ()) -> list[str]:
        """All Python files but those that ignore rules drop."""
        paths = (path.relative_to(self.root).as_posix() for path in self.root.rglob("*.py"))
        return sorted(path for path in paths if path not in without)

    def discover(self, *, without: Iterable[str] = (), timeout_seconds: float = 20) -> Report:
        """The report; `without` are files that ignore rules drop."""
        # A fork keeps the streams of the process, and not those that pytest has put in their place.
        with redirect_stdout(sys.__stdout__), redirect_stderr(sys.__stderr__):
            return discover(self.root, self.files(without), timeout_seconds)

    def found(self, **options: Any) -> dict[str, Report]:
        """The endpoints by name, of an app that has no errors."""
        report = self.discover(**options)
        assert report["errors"] == []
        return {endpoint["name"]: endpoint for endpoint in report["endpoints"]}

    def errors(self, **options: Any) -> list[str]:
        """`file:line: message` of each error."""
        return [shown(note) for note in self.discover(**options)["errors"]]

    def warnings(self, **options: Any) -> list[str]:
        """`file:line: message` of each warning, of an app that has no errors."""
        report = self.discover(**options)
        assert report["errors"] == []
        return [shown(note) for note in report["warnings"]]


def shown(note: dict[str, Any]) -> str:
    """A note in one line."""
    return f"{note['file']}:{note['line']}: {note['message']}"


@pytest.fixture
def app(tmp_path: Path) -> App:
    """An empty project."""
    root = tmp_path / "app"
    root.mkdir()
    return App(root)


@pytest.fixture
def log(app: App) -> Callable[[], list[str]]:
    """What the modules of the app have written into `log` beside them."""

    def read() -> list[str]:
        path = app.root / "log"
        return path.read_text("utf-8").split() if path.exists() else []

    return read
