"""Whether a process that has imported packages can continue with others."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from importlib.metadata import distributions
from pathlib import Path

from . import imports


def stale_package(before: Path, after: Path | None) -> str | None:
    """A package that was imported and has since been changed or removed; None if there is none.

    A process cannot load compiled modules twice, and what others have of a package stays as it was.
    """
    is_used = any(imports.is_from(module, before) for module in list(sys.modules.values()))
    if not is_used:
        return None
    now = _versions(after) if after is not None else {}
    changed = [name for name, version in _versions(before).items() if now.get(name) != version]
    return min(changed, default=None)


def _versions(directory: Path) -> Mapping[str, str]:
    found = distributions(path=[str(directory)])
    return {one.metadata["Name"]: one.version for one in found if one.metadata["Name"]}
