"""Installs packages into a directory, with uv if it is installed, else with pip."""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from ...requirements.library import pip_wheels
from ..missing_package import LARGE, OF_IMAGES
from .command import InstallCommand, InstallFailed
from .credentials import with_credentials
from .needs import unmet


def install(
    requirements: Sequence[str], target: Path, work: Path, *, downloads: Path | None, side_by_side: bool
) -> None:
    """Installs requirements with what they need. `work` is for files in between. Raises InstallFailed.

    Downloads are kept in the directory of that name, without one where the installer keeps them anyway.
    """
    uv = shutil.which("uv")
    if uv is None:
        _install_by_pip(requirements, target, work, _downloads_in("PIP_CACHE_DIR", downloads))
    else:
        environment = _downloads_in("UV_CACHE_DIR", downloads) | ({} if side_by_side else _ONE_BY_ONE)
        _install_by_uv(uv, requirements, target, work, environment)


_PIP_LEAST = (22, 2)
_ONE_BY_ONE = {"UV_CONCURRENT_DOWNLOADS": "1", "UV_CONCURRENT_BUILDS": "1", "UV_CONCURRENT_INSTALLS": "1"}


def _downloads_in(variable: str, downloads: Path | None) -> dict[str, str]:
    return {} if downloads is None or variable in os.environ else {variable: str(downloads)}


def _install_by_uv(
    uv: str, requirements: Sequence[str], target: Path, work: Path, environment: Mapping[str, str]
) -> None:
    # It does not look at what this Python has; this is its way to leave a package out wherever it is needed.
    left_out = [f"{name}; python_version < '0'" for name in _left_out(requirements)]
    InstallCommand(
        [
            *(uv, "pip", "install", "--python", sys.executable, "--target", str(target), "--no-progress"),
            *("--requirements", _listed(work / "requirements.txt", requirements)),
            *("--overrides", _listed(work / "left-out.txt", left_out)),
        ],
        environment,
    ).run()


def _left_out(requirements: Sequence[str]) -> list[str]:
    """Packages of images that are not installed unless they are required by name."""
    requested = {_key(one) for one in requirements}
    return sorted(name for name in OF_IMAGES - requested if name in LARGE or not unmet([name], None))


_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def _key(requirement: str) -> str:
    """The normalised name in a requirement (PEP 503); empty if it has none, as an option does."""
    name = _NAME.match(requirement)
    return re.sub(r"[-_.]+", "-", name[0]).lower() if name else ""


def _install_by_pip(requirements: Sequence[str], target: Path, work: Path, environment: Mapping[str, str]) -> None:
    report = work / "report.json"
    pip = [*_pip(), "install", "--no-input", "--disable-pip-version-check"]
    pip += ["--progress-bar", "off", "--quiet"]
    requested = ["--requirement", _listed(work / "requirements.txt", requirements)]
    # With --target it ignores installed packages, so the missing ones are resolved first.
    InstallCommand([*pip, "--dry-run", "--report", str(report), *requested], environment).run()
    found = json.loads(report.read_text(encoding="utf-8"))["install"]
    lacking = [_exactly(one, requirements) for one in _without(found, _left_out(requirements))]
    if lacking:
        exact = ["--requirement", _listed(work / "lacking.txt", lacking)]
        InstallCommand([*pip, "--target", str(target), "--no-deps", *exact], environment).run()


def _pip() -> list[str]:
    """The command of this Python's pip, or else of the one that it has in store."""
    try:
        found, command = version("pip"), ["-m", "pip"]
    except PackageNotFoundError:
        wheels = pip_wheels()
        if not wheels:
            raise InstallFailed(f"{sys.executable} has no pip: install that, or uv.") from None
        found, command = Path(wheels[-1]).name, [f"{wheels[-1]}/pip"]
    major, minor = map(int, re.findall(r"[0-9]+", found)[:2])
    if (major, minor) < _PIP_LEAST:
        raise InstallFailed(
            f"pip {major}.{minor} of {sys.executable} is too old to say what it would install: update it by "
            f"`{sys.executable} -m pip install --upgrade pip`, or install uv."
        )
    return [sys.executable, *command]


def _without(found: Sequence[Mapping[str, Any]], left_out: Sequence[str]) -> list[Mapping[str, Any]]:
    """Without excluded packages and what only those need."""
    by_key = {_key(one["metadata"]["name"]): one for one in found}
    needed = [key for key, one in by_key.items() if one["requested"]]
    selected: dict[str, Mapping[str, Any]] = {}
    while needed:
        key = needed.pop()
        if key in by_key and key not in selected and key not in left_out:
            selected[key] = by_key[key]
            needed += [_key(text) for text in selected[key]["metadata"].get("requires_dist", [])]
    return list(selected.values())


def _exactly(found: Mapping[str, Any], requirements: Sequence[str]) -> str:
    """The very file, or commit, that pip has found; it leaves credentials out of what it reports."""
    where = found["download_info"]
    url, commit = with_credentials(where["url"], requirements), where.get("vcs_info")
    if commit is not None:
        url = f"{commit['vcs']}+{url}@{commit['commit_id']}"
    if "subdirectory" in where:
        url = f"{url}#subdirectory={where['subdirectory']}"
    return f"{found['metadata']['name']} @ {url}"


def _listed(file: Path, lines: Sequence[str]) -> str:
    file.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return str(file)
