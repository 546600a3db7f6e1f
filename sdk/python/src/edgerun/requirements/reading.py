"""What requirements say, and which of them contradict each other."""

from __future__ import annotations

import itertools
import re
from typing import Any

from edgerun.requirements.library import Packaging, target_environment

Answer = dict[str, Any]


def read_requirements(packaging: Packaging, texts: list[str], python: str) -> Answer:
    """Read requirements as PEP 508 has them, for workers with that Python (such as 3.12).

    The answer has one entry of ``requirements`` for each text, and in ``conflicts`` pairs of their numbers.
    """
    entries = [_read(packaging, text, python) for text in texts]
    applying = [(number, entry) for number, entry in enumerate(entries) if entry.get("applies")]
    conflicts = [
        [one, other]
        for (one, first), (other, second) in itertools.combinations(applying, 2)
        if first["key"] == second["key"] and _contradict(packaging, first, second)
    ]
    return {"requirements": entries, "conflicts": conflicts}


def _read(packaging: Packaging, text: str, python: str) -> Answer:
    try:
        requirement = packaging.requirements.Requirement(text)
        marker = requirement.marker
        applies = marker is None or bool(marker.evaluate(target_environment(python)))
    except ValueError as error:
        return {"error": str(error).splitlines()[0]}
    # The marker was evaluated for the worker above; pip would evaluate it again, for this computer.
    requirement.marker = None
    return {
        "name": requirement.name,
        "key": packaging.key(requirement.name),
        "extras": sorted(packaging.key(extra) for extra in requirement.extras),
        "specifier": str(requirement.specifier),
        "url": requirement.url,
        "text": str(requirement),
        "applies": applies,
    }


def _contradict(packaging: Packaging, one: Answer, other: Answer) -> bool:
    if one["url"] and other["url"]:
        return bool(one["url"] != other["url"])
    both = packaging.specifiers.SpecifierSet(one["specifier"]) & packaging.specifiers.SpecifierSet(
        other["specifier"]
    )
    candidates = [candidate for specifier in both for candidate in _candidates(packaging, specifier.version)]
    return bool(candidates) and not any(
        both.contains(candidate, prereleases=True) for candidate in candidates
    )


def _candidates(packaging: Packaging, bound: str) -> list[str]:
    """Versions at, a little below and a little above a bound: if there is a version at all, one of these fits."""
    text = re.sub(r"\.\*$", "", bound)
    try:
        version = packaging.version.Version(text)
    except ValueError:
        return [bound]
    epoch = f"{version.epoch}!" if version.epoch else ""
    release = list(version.release)
    above = epoch + ".".join(map(str, [*release, 0, 0, 0, 1]))
    after = epoch + ".".join(map(str, [*release[:-1], release[-1] + 1]))
    found = [text, above, after]
    while release and release[-1] == 0:
        release.pop()
    if release:
        found.append(epoch + ".".join(map(str, [*release[:-1], release[-1] - 1, 999999])))
    return found
