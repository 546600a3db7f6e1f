"""Files whose names conflict with others where the app is deployed."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from .candidates import SDK
from .notes import Notes, Place


def check_names(
    files: Collection[str], candidates: Collection[str], needed: Collection[str], notes: Notes
) -> None:
    """Reports files that shadow modules which workers need; `needed` are those that endpoints import.

    Candidates are checked when they are imported.
    """
    of_sdk = [path for path in files if path.split("/")[0] in (SDK, f"{SDK}.py")]
    for path in of_sdk[:1]:
        notes.fail(Place(path, 1), f"every build has the package `{SDK}` in place of this; rename it.")
    for path in files:
        name = path.removesuffix(".py").removesuffix("/__init__")
        if name in sys.stdlib_module_names and path not in candidates:
            report = notes.fail if path in needed else notes.warn
            report(
                Place(path, 1),
                f"`{name}` is a module of Python itself, and workers, which find this file in its place, may not even "
                "start; rename it.",
            )


def check_handler_files(files: Iterable[str], endpoints: Iterable[Mapping[str, Any]], notes: Notes) -> None:
    """Reports files that the build would overwrite."""
    taken = {
        f"handler_{endpoint['name']}.py"
        for endpoint in endpoints
        if not endpoint["isLoadBalanced"] and not endpoint["isClient"]
    }
    for path in files:
        if path in taken:
            notes.fail(
                Place(path, 1), "the build writes a file of this name, which starts the endpoint; rename it."
            )
