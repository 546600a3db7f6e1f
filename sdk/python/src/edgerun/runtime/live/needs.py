"""Which requirements this Python meets already."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distributions
from typing import Any

from ...requirements.library import Packaging, load_packaging


def unmet(requirements: Sequence[str], searched: Sequence[str] | None) -> list[str]:
    """Those that are to be installed; `searched` are the directories to look in, all of the interpreter by default."""
    if not requirements:
        return []
    packaging = load_packaging()
    if packaging is None:
        return list(requirements)  # the installer knows
    look = _Look(packaging, searched)
    return [one for one in dict.fromkeys(requirements) if not look.is_met(one)]


class _Look:
    def __init__(self, packaging: Packaging, searched: Sequence[str] | None) -> None:
        self._packaging = packaging
        found: Iterable[Distribution] = (
            distributions() if searched is None else distributions(path=list(searched))
        )
        self._installed: dict[str, Distribution] = {}
        for one in found:
            name = one.metadata["Name"]
            if name:
                self._installed.setdefault(packaging.key(name), one)

    def is_met(self, text: str, extras: frozenset[str] = frozenset()) -> bool:
        try:
            requirement = self._packaging.requirements.Requirement(text)
        except ValueError:
            return False  # such as an option, or something that only the installer reads
        if requirement.marker is not None and not any(
            requirement.marker.evaluate({"extra": extra}) for extra in ["", *extras]
        ):
            return True
        return self._is_there(requirement)

    def _is_there(self, requirement: Any) -> bool:
        found = self._installed.get(self._packaging.key(requirement.name))
        if found is None or requirement.url is not None:
            return False
        if not requirement.specifier.contains(found.version, prereleases=True):
            return False
        extras = frozenset(requirement.extras)
        needs = [text for text in found.requires or [] if extras and "extra" in text]
        return all(self.is_met(text, extras) for text in needs)
