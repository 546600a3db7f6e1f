"""Hand-made wheels, and an index that is a directory of them."""

from __future__ import annotations

import zipfile
from pathlib import Path


def make_wheel(
    directory: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()
) -> Path:
    """A wheel for any Python."""
    directory.mkdir(exist_ok=True)
    wheel = directory / f"{name}-{version}-py3-none-any.whl"
    info = f"{name}-{version}.dist-info"
    required = "".join(f"Requires-Dist: {one}\n" for one in requires)
    members = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{required}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    record = "".join(f"{path},,\n" for path in [*members, f"{info}/RECORD"])
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in {**members, f"{info}/RECORD": record}.items():
            archive.writestr(path, text)
    return wheel


def only_from(directory: Path) -> dict[str, str]:
    """The environment in which installers look nowhere else."""
    return {
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(directory),
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(directory),
        "UV_CACHE_DIR": str(directory / ".uv"),
        "PIP_CONFIG_FILE": "/dev/null",
    }
