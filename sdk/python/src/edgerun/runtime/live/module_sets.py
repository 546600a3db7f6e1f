"""Module sets as directories of real files, which imports, tracebacks and `inspect` are used to."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Mapping
from pathlib import Path

from .sources import Sources

# Calls that run may still be of an earlier one, and import more of it.
_SETS_MAX = 4
_NAME_CHARACTERS = 16


class ModuleSets:
    """Writes requested module sets, and removes those that were not used recently. One caller at a time."""

    def __init__(self, directory: Path, sources: Sources) -> None:
        self.directory = directory
        self._sources = sources
        self._laid_out: list[Path] = []

    def lay_out(self, modules: Mapping[str, str]) -> Path:
        """The directory with these files, whose sources are present. Their paths have been validated."""
        target = self.directory / name_of(modules)
        if target in self._laid_out:
            self._laid_out.remove(target)
        else:
            self._write(target, modules)
        self._laid_out.append(target)
        while len(self._laid_out) > _SETS_MAX:
            shutil.rmtree(self._laid_out.pop(0), ignore_errors=True)
        return target

    def _write(self, target: Path, modules: Mapping[str, str]) -> None:
        shutil.rmtree(target, ignore_errors=True)  # one that was not written to its end
        texts = self._sources.texts(modules.values())
        target.mkdir(parents=True)
        for path, sha256 in modules.items():
            file = target / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(texts[sha256])


def name_of(modules: Mapping[str, str]) -> str:
    """The same for the same files."""
    listed = "".join(f"{path}\0{sha256}\n" for path, sha256 in sorted(modules.items()))
    return hashlib.sha256(listed.encode("utf-8")).hexdigest()[:_NAME_CHARACTERS]
