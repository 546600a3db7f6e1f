"""Installs packages into a directory: by uv where it is there, else by pip."""

from __future__ import annotations

import json
import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..missing_package import OF_IMAGES
from .command import InstallCommand
from .credentials import with_credentials
from .needs import unmet


def install(
    wanted: Sequence[str], target: Path, work: Path, *, downloads: Path | None, side_by_side: bool
) -> None:
    """Installs requirements with what they need. `work` is for files in between. Raises InstallFailed.

    Downloads are kept in the directory of that name, without one where the installer keeps them anyway.
    """
    uv = shutil.which("uv")
    if uv is None:
        _install_by_pip(wanted, target, work, _kept("PIP_CACHE_DIR", downloads))
    else:
        environment = _kept("UV_CACHE_DIR", downloads) | ({} if side_by_side else _ONE_BY_ONE)
        _install_by_uv(uv, wanted, target, work, environment)


_ONE_BY_ONE = {"UV_CONCURRENT_DOWNLOADS": "1", "UV_CONCURRENT_BUILDS": "1", "UV_CONCURRENT_INSTALLS": "1"}


def _kept(variable: str, downloads: Path | None) -> dict[str, str]:
    return {} if downloads is None or variable in os.environ else {variable: str(downloads)}


def _install_by_uv(
    uv: str, wanted: Sequence[str], target: Path, work: Path, environment: Mapping[str, str]
) -> None:
    # It does not look at what this Python has; this is its way to leave a package out wherever it is needed.
    left_out = [f"{name}; python_version < '0'" for name in _of_image()]
    InstallCommand(
        [
            *(uv, "pip", "install", "--python", sys.executable, "--target", str(target), "--no-progress"),
            *("--requirements", _listed(work / "requirements.txt", wanted)),
            *("--overrides", _listed(work / "left-out.txt", left_out)),
        ],
        environment,
    ).run()


def _of_image() -> list[str]:
    """Packages that images bring, and that this Python has."""
    return sorted(name for name in OF_IMAGES if not unmet([name], None))


def _install_by_pip(wanted: Sequence[str], target: Path, work: Path, environment: Mapping[str, str]) -> None:
    report = work / "report.json"
    pip = [sys.executable, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    pip += ["--progress-bar", "off", "--quiet"]
    asked = ["--requirement", _listed(work / "requirements.txt", wanted)]
    # With a target it does not look at what this Python has, so what is lacking is asked for before.
    InstallCommand([*pip, "--dry-run", "--report", str(report), *asked], environment).run()
    lacking = [_exactly(one, wanted) for one in json.loads(report.read_text(encoding="utf-8"))["install"]]
    if lacking:
        exact = ["--requirement", _listed(work / "lacking.txt", lacking)]
        InstallCommand([*pip, "--target", str(target), "--no-deps", *exact], environment).run()


def _exactly(found: Mapping[str, Any], wanted: Sequence[str]) -> str:
    """The very file, or commit, that pip has found; it leaves credentials out of what it reports."""
    where = found["download_info"]
    url, commit = with_credentials(where["url"], wanted), where.get("vcs_info")
    if commit is not None:
        url = f"{commit['vcs']}+{url}@{commit['commit_id']}"
    if "subdirectory" in where:
        url = f"{url}#subdirectory={where['subdirectory']}"
    return f"{found['metadata']['name']} @ {url}"


def _listed(file: Path, lines: Sequence[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(file)
