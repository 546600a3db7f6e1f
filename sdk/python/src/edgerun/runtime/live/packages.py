"""
Packages that code depends on, installed where it runs.

P1  What this Python has already is not installed, and neither is what images bring where this one does.
P2  An installation is a directory named by what was asked for; it is complete when it has its name, so that workers
    which share a volume can make it side by side.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from .. import log
from ..missing_package import OF_IMAGES
from . import imports
from .command import InstallCommand, InstallFailed
from .needs import unmet
from .outcomes import NotLoaded
from .request import Code
from .system_packages import install_system_packages

_VOLUME = Path("/runpod-volume")
_SHOWN_MAX = 6


class Packages:
    """Makes the packages of one version of the code importable. One caller at a time."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._cache = cache_directory(environment)
        self._searched = [path for path in sys.path if path]
        self._current: Path | None = None

    def provide(self, code: Code) -> None:
        """Raises NotLoaded where something cannot be installed, and says why."""
        try:
            install_system_packages(code.system_dependencies, self._cache)
            wanted = unmet(code.dependencies, self._searched)
            self._use(self._installed(wanted, code.accelerate_downloads) if wanted else None)
        except InstallFailed as error:
            raise NotLoaded(str(error), kind="InstallError") from None

    def _use(self, directory: Path | None) -> None:
        if directory == self._current:
            return
        before, self._current = self._current, directory
        if before is not None:
            imports.leave_out(before)
        if directory is not None:
            imports.put_first(directory)

    def _installed(self, wanted: list[str], side_by_side: bool) -> Path:
        target = self._cache / "packages" / _name_of(wanted)
        if target.is_dir():
            return target
        target.parent.mkdir(parents=True, exist_ok=True)
        log.say(f"Installs {_listed(wanted)}.")
        started = time.monotonic()
        making = Path(tempfile.mkdtemp(prefix=".making-", dir=target.parent))
        try:
            _install(wanted, making, self._cache, side_by_side)
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


def _name_of(wanted: list[str]) -> str:
    """Compiled packages are of one Python and kind of machine."""
    asked = "\n".join([sys.implementation.cache_tag or "", sysconfig.get_platform(), *sorted(wanted)])
    return hashlib.sha256(asked.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _name(making: Path, target: Path) -> None:
    try:
        making.chmod(0o755)
        making.rename(target)
    except OSError:
        if not target.is_dir():  # otherwise another worker was first
            raise


def _install(wanted: list[str], target: Path, cache: Path, side_by_side: bool) -> None:
    with tempfile.TemporaryDirectory(prefix="edgerun-install-") as directory:
        asked = Path(directory) / "requirements.txt"
        asked.write_text("".join(f"{one}\n" for one in wanted), encoding="utf-8")
        uv = shutil.which("uv")
        if uv is None:
            _install_by_pip(asked, target, cache)
        else:
            _install_by_uv(uv, asked, target, cache, side_by_side, Path(directory))


def _install_by_uv(
    uv: str, asked: Path, target: Path, cache: Path, side_by_side: bool, directory: Path
) -> None:
    # uv's way to leave a package out, wherever in the tree it is needed.
    left_out = directory / "left-out.txt"
    left_out.write_text("".join(f"{name}; python_version < '0'\n" for name in of_image()), encoding="utf-8")
    one_by_one = {"UV_CONCURRENT_DOWNLOADS": "1", "UV_CONCURRENT_BUILDS": "1", "UV_CONCURRENT_INSTALLS": "1"}
    InstallCommand(
        [
            *(uv, "pip", "install", "--python", sys.executable, "--target", str(target)),
            *("--requirements", str(asked), "--overrides", str(left_out), "--no-progress"),
        ],
        {**_downloads("UV_CACHE_DIR", cache), **({} if side_by_side else one_by_one)},
    ).run()


def _install_by_pip(asked: Path, target: Path, cache: Path) -> None:
    InstallCommand(
        [
            *(sys.executable, "-m", "pip", "install", "--target", str(target), "--requirement", str(asked)),
            *(
                "--no-input",
                "--disable-pip-version-check",
                "--progress-bar",
                "off",
                "--no-warn-script-location",
            ),
        ],
        _downloads("PIP_CACHE_DIR", cache),
    ).run()


def _downloads(variable: str, cache: Path) -> dict[str, str]:
    """Downloads are kept beside what was installed, where that is no longer-lived place of the installer's own."""
    is_own = variable in os.environ or not cache.is_relative_to(_VOLUME)
    return {} if is_own else {variable: str(cache / "downloads" / variable.split("_")[0].lower())}


def of_image() -> list[str]:
    """Packages that images bring, and that this Python has."""
    return sorted(name for name in OF_IMAGES if not unmet([name], None))


def _listed(wanted: list[str]) -> str:
    shown = ", ".join(wanted[:_SHOWN_MAX])
    return f"{shown} and {len(wanted) - _SHOWN_MAX} more" if len(wanted) > _SHOWN_MAX else shown
