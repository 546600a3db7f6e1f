"""
Packages that code depends on, installed where it runs.

P1  What this Python has already is not installed, and neither is what images bring where this one does.
P2  An installation is a directory named after the requested packages; it is complete once it has that name, so workers
    which share a volume can make it side by side.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from .. import log
from . import imports
from .command import InstallFailed
from .credentials import without_credentials
from .installers import install
from .needs import unmet
from .outcomes import NotLoaded
from .packages_change import stale_package
from .request import Code
from .system_packages import install_system_packages

_VOLUME = Path("/runpod-volume")
_SHOWN_MAX = 6
_UNDONE = ".making-"
# Seconds. Longer than any installation; packages that were not used for a month are installed again when needed.
_UNDONE_MAX_AGE_S = 3_600.0
_UNUSED_MAX_AGE_S = 30 * 86_400.0


class WorkerSpent(Exception):
    """Another worker can run it; this one ends."""


class Packages:
    """Makes the packages of one version of the code importable. One caller at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._cache = cache_directory(environment)
        self._downloads = self._cache / "downloads" if self._cache.is_relative_to(_VOLUME) else None
        self._searched = [path for path in sys.path if path]
        self._current: Path | None = None
        self._is_spent = False

    @property
    def is_spent(self) -> bool:
        """Whether this process cannot load the packages and has ended for a fresh one."""
        return self._is_spent

    def provide(self, code: Code) -> None:
        """Raises NotLoaded, with the reason, when something cannot be installed; WorkerSpent."""
        try:
            install_system_packages(code.system_dependencies, self._cache)
            requirements = unmet(code.dependencies, self._searched)
            is_any = any(map(_is_package, requirements))
            self._use(self._installed(requirements, code.accelerate_downloads) if is_any else None)
        except InstallFailed as error:
            raise NotLoaded(str(error), kind="InstallError") from None

    def _use(self, directory: Path | None) -> None:
        if directory == self._current:
            return
        before = self._current
        if before is not None:
            self._refuse_stale(before, directory)
            imports.leave_out(before)
        self._current = directory
        if directory is not None:
            imports.put_first(directory)

    def _refuse_stale(self, before: Path, after: Path | None) -> None:
        stale = stale_package(before, after)
        if stale is None:
            return
        self._is_spent = True
        os.kill(os.getpid(), signal.SIGTERM)  # the calls that run come to their end
        why = (
            f"The package {stale} is loaded as it was before, and a process cannot load it twice: a fresh worker runs "
            "the code as it is now."
        )
        log.say(why)
        raise WorkerSpent(f"{why} Call again.")

    def _installed(self, requirements: list[str], side_by_side: bool) -> Path:
        target = self._cache / "packages" / _name_of(requirements)
        if target.is_dir():
            _note_use(target)
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        remove_unused(target.parent)
        log.say(f"Installs {listed(requirements)}.")
        started = time.monotonic()
        making = Path(tempfile.mkdtemp(prefix=_UNDONE, dir=target.parent))
        try:
            with tempfile.TemporaryDirectory(prefix="edgerun-install-") as work:
                install(requirements, making, Path(work), downloads=self._downloads, side_by_side=side_by_side)
            _name(making, target)
        finally:
            shutil.rmtree(making, ignore_errors=True)
        log.say(f"Installed in {time.monotonic() - started:.1f} s.")
        return target


def cache_directory(environment: Mapping[str, str]) -> Path:
    """Where what was installed stays: best on the volume, which other workers have too."""
    if _VOLUME.is_dir() and os.access(_VOLUME, os.W_OK):
        return _VOLUME / ".cache" / "edgerun"
    chosen = environment.get("FLASH_WORKER_INSTALL_DIR")
    return Path(chosen).resolve() if chosen else Path.home() / ".cache" / "edgerun"


def _name_of(requirements: list[str]) -> str:
    """Compiled packages are of one Python and kind of machine."""
    key_text = "\n".join([sys.implementation.cache_tag or "", sysconfig.get_platform(), *sorted(requirements)])
    return hashlib.sha256(key_text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _name(making: Path, target: Path) -> None:
    try:
        making.chmod(0o755)
        making.rename(target)
    except OSError:
        if not target.is_dir():  # otherwise another worker was first
            raise


def _note_use(target: Path) -> None:
    with contextlib.suppress(OSError):  # of another user
        os.utime(target)


def remove_unused(directory: Path) -> None:
    """Removes packages that were not used for a month, and remains of killed installations."""
    now = time.time()
    for one in directory.iterdir():
        max_age_s = _UNDONE_MAX_AGE_S if one.name.startswith(_UNDONE) else _UNUSED_MAX_AGE_S
        with contextlib.suppress(OSError):  # removed by another worker, or of another user
            if now - one.stat().st_mtime > max_age_s:
                shutil.rmtree(one, ignore_errors=True)


def _is_package(requirement: str) -> bool:
    """Others are options: where packages are looked for."""
    return not requirement.startswith("-")


def listed(requirements: list[str]) -> str:
    """Some of them, without the passwords of addresses."""
    names = [one for one in requirements if _is_package(one)]
    shown = without_credentials(", ".join(names[:_SHOWN_MAX]))
    return f"{shown} and {len(names) - _SHOWN_MAX} more" if len(names) > _SHOWN_MAX else shown
