"""A path with parameters, such as `/users/{id}/{name}.{format}`, and what a request's path has in their places.

Each parameter takes at least one character and no slash; where several stand in one segment, the first takes as much
as it can. A path is read in linear time, which a regular expression with several parameters in a segment does not do.
"""

from __future__ import annotations

import re

_PARAMETER = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")


def parameter_names(path: str) -> tuple[str, ...]:
    """The parameters of a path, in order."""
    return tuple(_PARAMETER.findall(path))


class PathPattern:
    """Raises ValueError where a parameter stands twice."""

    def __init__(self, path: str) -> None:
        names = parameter_names(path)
        if len(set(names)) < len(names):
            raise ValueError(f"The path {path!r} has a parameter twice; give each another name.")
        self._segments = [_Segment(segment) for segment in path.split("/")]

    def values_in(self, path: str) -> dict[str, str] | None:
        """The parameters of a path, still percent-encoded; None where the path does not match."""
        given = path.split("/", len(self._segments))
        if len(given) != len(self._segments):
            return None
        values: dict[str, str] = {}
        for segment, text in zip(self._segments, given):
            if not segment.read(text, values):
                return None
        return values


class _Segment:
    def __init__(self, segment: str) -> None:
        pieces = _PARAMETER.split(segment)
        self._names = pieces[1::2]
        self._first, *between = pieces[::2]
        self._last = between.pop() if between else ""
        # From the end: each parameter but the first one, with the literal before it.
        self._backward = list(zip(self._names[:0:-1], between[::-1]))

    def read(self, text: str, values: dict[str, str]) -> bool:
        """Adds the values that stand in a segment; False when it is not of this form."""
        if not self._names:
            return text == self._first
        start, end = len(self._first), len(text) - len(self._last)
        if end <= start or not text.startswith(self._first) or not text.endswith(self._last):
            return False
        for name, before in self._backward:
            at = text.rfind(before, start + 1, end - 1)
            if at < 0:
                return False
            values[name] = text[at + len(before) : end]
            end = at
        values[self._names[0]] = text[start:end]
        return True
