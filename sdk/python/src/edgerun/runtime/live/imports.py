"""What the interpreter has imported of a directory, and how it is made to forget it."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from pathlib import Path
from types import ModuleType


def put_first(directory: Path) -> None:
    """Imports search this directory before all others."""
    leave_out(directory)
    sys.path.insert(0, str(directory))
    importlib.invalidate_caches()


def leave_out(directory: Path) -> None:
    """Imports no longer search this directory, nor directories below it that code has added."""
    sys.path[:] = [path for path in sys.path if not _is_within(str(path), directory)]
    for path in [path for path in sys.path_importer_cache if _is_within(path, directory)]:
        del sys.path_importer_cache[path]


def forget(directory: Path) -> None:
    """Modules from there are imported again when they are next used."""
    for name, module in list(sys.modules.items()):
        if is_from(module, directory):
            del sys.modules[name]
    linecache.checkcache()


def is_from(module: ModuleType, directory: Path) -> bool:
    """Whether a module, or a package without a file, was imported from there."""
    try:
        file = getattr(module, "__file__", None)
        places = [file] if isinstance(file, str) else list(getattr(module, "__path__", []))
    except Exception:  # some modules answer by code of their own
        return False
    return any(isinstance(place, str) and _is_within(place, directory) for place in places)


def _is_within(path: str, directory: Path) -> bool:
    return path == str(directory) or path.startswith(f"{directory}{os.sep}")
