"""The ``packaging`` library, wherever this interpreter has it."""

from __future__ import annotations

import glob
import importlib.util
import os
import sys
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Packaging:
    """The parts of ``packaging`` that are used here."""

    requirements: Any
    utils: Any
    version: Any
    specifiers: Any

    def key(self, name: str) -> str:
        """The name as PEP 503 writes it."""
        return str(self.utils.canonicalize_name(name))


def load_packaging() -> Packaging | None:
    """Finds it: installed, in pip, or in the pip of ``ensurepip``."""
    for prefix in ("packaging", "pip._vendor.packaging"):
        found = _load(prefix)
        if found is not None:
            return found
    for wheel in pip_wheels():
        sys.path.insert(0, wheel)
        found = _load("pip._vendor.packaging")
        if found is not None:
            return found
        sys.path.remove(wheel)
    return None


def target_environment(python: str) -> dict[str, str]:
    """What markers see on a worker: CPython of that version (such as 3.12) on Linux x86_64."""
    return {
        "implementation_name": "cpython",
        "implementation_version": f"{python}.0",
        "os_name": "posix",
        "platform_machine": "x86_64",
        "platform_python_implementation": "CPython",
        "platform_release": "",
        "platform_system": "Linux",
        "platform_version": "",
        "python_full_version": f"{python}.0",
        "python_version": python,
        "sys_platform": "linux",
        "extra": "",
    }


def _load(prefix: str) -> Packaging | None:
    try:
        parts = [
            importlib.import_module(f"{prefix}.{part}")
            for part in ("requirements", "utils", "version", "specifiers")
        ]
    except ImportError:
        return None
    return Packaging(*parts)


def pip_arguments() -> list[str] | None:
    """Arguments of this interpreter that run pip: the installed one, else that of ``ensurepip``."""
    if importlib.util.find_spec("pip") is not None:
        return ["-m", "pip"]
    wheels = pip_wheels()
    return [os.path.join(wheels[-1], "pip")] if wheels else None


def pip_wheels() -> list[str]:
    """Those that ``ensurepip`` has, from which pip can be run or imported as it lies there."""
    try:
        import ensurepip
    except ImportError:
        return []
    directories = [
        os.path.join(os.path.dirname(ensurepip.__file__), "_bundled"),
        getattr(ensurepip, "_WHEEL_PKG_DIR", None),
    ]
    return [
        wheel
        for directory in directories
        if directory
        for wheel in sorted(glob.glob(os.path.join(glob.escape(str(directory)), "pip-*.whl")))
    ]
