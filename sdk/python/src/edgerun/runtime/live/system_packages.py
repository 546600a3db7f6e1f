"""Debian packages that code depends on, where a worker may install them: as root, on Debian."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path

from .. import log
from .command import InstallCommand, InstallFailed

_NAME = re.compile(r"[a-z0-9][a-z0-9+.-]+(:[a-z0-9]+)?(=[A-Za-z0-9.+:~-]+)?")
_QUIET = {"DEBIAN_FRONTEND": "noninteractive"}


def install_system_packages(names: Sequence[str], cache: Path) -> None:
    """Raises InstallFailed. Where this worker cannot install packages at all, only a warning is logged."""
    for name in names:
        if not _NAME.fullmatch(name):
            raise InstallFailed(f"{name!r} in system_dependencies is no name of a Debian package.")
    missing = [name for name in names if not _is_installed(name)]
    if not missing:
        return
    listed = ", ".join(missing)
    if shutil.which("apt-get") is None or os.geteuid() != 0:
        log.say(
            f"Not installed, for this worker is not root on Debian: {listed} of system_dependencies.",
            level="WARNING",
        )
        return
    log.say(f"Installs {listed}.")
    started = time.monotonic()
    _apt_install(missing, cache / "apt")
    log.say(f"Installed in {time.monotonic() - started:.1f} s.")


def _apt_install(names: list[str], cache: Path) -> None:
    (cache / "partial").mkdir(parents=True, exist_ok=True)
    # Root in a container may lack the permission to switch to apt's own user.
    options = [
        *("-o", "APT::Sandbox::User=root", "-o", f"Dir::Cache::archives={cache}"),
        *("-o", "APT::Keep-Downloaded-Packages=true"),
    ]
    InstallCommand(["apt-get", *options, "update"], _QUIET).run()
    InstallCommand(
        ["apt-get", *options, "install", "--yes", "--no-install-recommends", "--", *names], _QUIET
    ).run()


def _is_installed(name: str) -> bool:
    package, _, version = name.partition("=")
    try:
        query = subprocess.run(
            ["dpkg-query", "--show", "--showformat=${db:Status-Status} ${Version}\n", "--", package],
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:  # not Debian
        return False
    states = [line.split(" ") for line in query.stdout.splitlines()]
    return any(state[0] == "installed" and version in ("", state[-1]) for state in states)
