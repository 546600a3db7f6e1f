"""The packages in an installation, and which of them are needed."""

from __future__ import annotations

from importlib.metadata import Distribution, distributions
from typing import Any

from edgerun.requirements.library import Packaging, target_environment


def survey(
    packaging: Packaging,
    directory: str,
    roots: list[dict[str, Any]],
    excluded: list[str],
    python: str,
) -> dict[str, Any]:
    """Look at the distributions in a directory, from the required ones (``key``, ``extras``) on.

    ``excluded`` of the answer are those of the excluded names that something needs. ``superfluous`` are installed
    distributions that are excluded themselves, or that only excluded ones need. ``missing`` is needed on a worker,
    but not installed.
    """
    installed = {packaging.key(found.metadata["Name"]): found for found in distributions(path=[directory])}
    walk = _Walk(packaging, installed, set(excluded), python)
    for root in roots:
        walk.reach(root["key"], frozenset(root["extras"]))
    return {
        "distributions": [
            {
                "key": key,
                "version": found.version,
                "isSuperfluous": key not in walk.reached,
                "files": [str(file) for file in found.files or []],
            }
            for key, found in sorted(installed.items())
        ],
        "excluded": sorted(walk.excluded),
        "missing": sorted(walk.missing),
    }


class _Walk:
    def __init__(
        self, packaging: Packaging, installed: dict[str, Distribution], left_out: set[str], python: str
    ) -> None:
        self.reached: set[str] = set()
        self.excluded: set[str] = set()
        self.missing: set[str] = set()
        self._packaging = packaging
        self._installed = installed
        self._left_out = left_out
        self._environment = target_environment(python)
        self._seen: set[tuple[str, frozenset[str]]] = set()

    def reach(self, key: str, extras: frozenset[str]) -> None:
        """Follows all dependencies of a distribution with the requested extras."""
        waiting = [(key, extras)]
        while waiting:
            step = waiting.pop()
            if step in self._seen:
                continue
            self._seen.add(step)
            if step[0] in self._left_out:
                self.excluded.add(step[0])
            elif step[0] in self._installed:
                self.reached.add(step[0])
                waiting.extend(self._needs(*step))
            else:
                self.missing.add(step[0])

    def _needs(self, key: str, extras: frozenset[str]) -> list[tuple[str, frozenset[str]]]:
        found = []
        for text in self._installed[key].requires or []:
            try:
                requirement = self._packaging.requirements.Requirement(text)
            except ValueError:
                continue
            if requirement.marker is None or any(
                requirement.marker.evaluate({**self._environment, "extra": extra}) for extra in ["", *extras]
            ):
                needed = frozenset(self._packaging.key(extra) for extra in requirement.extras)
                found.append((self._packaging.key(requirement.name), needed))
        return found
