"""Files of the project, other than its modules, that importing them has opened: what they say may decide declarations."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

State = list[int] | None
"""When a file was written, its size and its number; None of a file that is not there. JSON carries it."""


def state_of(path: Path | str) -> State:
    """As it is at the moment."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


class OpenedFiles:
    """Hears of every file that is opened, and keeps those that matter."""

    def __init__(self, root: Path, modules: Collection[str]) -> None:
        self._above = f"{root}{os.sep}"
        self._modules = modules
        self._found: dict[str, State] = {}

    def hear(self, event: str, arguments: tuple[object, ...]) -> None:
        """An audit hook."""
        if event != "open" or not isinstance(arguments[0], (str, os.PathLike)) or _writes(arguments[2]):
            return
        path = os.path.abspath(os.fspath(arguments[0]))
        if not isinstance(path, str) or not path.startswith(self._above):
            return
        inner = path[len(self._above) :].replace(os.sep, "/")
        if inner not in self._modules and inner not in self._found and not inner.endswith((".py", ".pyc")):
            self._found[inner] = state_of(path)

    def take(self) -> dict[str, State]:
        """Those opened since it was asked last, by path from the project."""
        taken, self._found = self._found, {}
        return taken


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) != 0
