"""Files other than modules that importing has opened: declarations may depend on them."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

State = list[int] | None
"""Modification time, size and inode of a file; None for a missing file."""


def state_of(path: Path | str) -> State:
    """The current state of a file."""
    try:
        found = os.stat(path)
    except (OSError, ValueError):
        return None
    return [found.st_mtime_ns, found.st_size, found.st_ino]


class OpenedFiles:
    """Records relevant files that are opened."""

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
        """Files opened since the last call, by path relative to the project."""
        taken, self._found = self._found, {}
        return taken


def _writes(flags: object) -> bool:
    return isinstance(flags, int) and flags & (os.O_WRONLY | os.O_RDWR) != 0
