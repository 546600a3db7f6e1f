"""Paths with parameters: what they match, and that a long one costs no more than its length."""

from __future__ import annotations

import random
import re

import pytest

from edgerun.runtime.server.path_pattern import PathPattern


def by_expression(path: str, given: str) -> dict[str, str] | None:
    """What a regular expression would find."""
    pieces = re.split(r"\{([a-z]+)\}", path)
    groups = [f"(?P<{name}>[^/]+)" for name in pieces[1::2]]
    pattern = "".join(re.escape(text) + group for text, group in zip(pieces[::2], [*groups, ""]))
    match = re.fullmatch(pattern, given)
    return match.groupdict() if match else None


def test_the_first_parameter_of_a_segment_takes_as_much_as_it_can() -> None:
    pattern = PathPattern("/files/{name}.{ext}")
    assert pattern.values_in("/files/a.b.txt") == {"name": "a.b", "ext": "txt"}


def test_no_parameter_is_empty_or_has_a_slash() -> None:
    for given in ["/files/.txt", "/files/a.", "/files/a/b.txt", "/files/", "/files", "/files/a.txt/"]:
        assert PathPattern("/files/{name}.{ext}").values_in(given) is None, given


def test_a_parameter_that_stands_twice_is_rejected() -> None:
    with pytest.raises(ValueError):
        PathPattern("/{a}/{a}")


def test_finds_what_a_regular_expression_finds() -> None:
    chance = random.Random(7)
    names = ["a", "b", "c", "d"]
    for _ in range(5_000):
        order = iter(names)
        parts = chance.choices(["{}", "x", "xy", "-", "/", "."], k=chance.randint(1, 7))
        path = "/" + "".join(f"{{{next(order, 'z')}}}" if part == "{}" else part for part in parts)
        if path.count("{z}") > 1:
            continue
        given = "/" + "".join(chance.choices("xy-./", k=chance.randint(0, 9)))
        assert PathPattern(path).values_in(given) == by_expression(path, given), (path, given)


def test_a_long_path_is_read_at_once() -> None:
    # A regular expression takes hours for this.
    given = "/" + "-" * 1_000_000 + "/"
    assert PathPattern("/{a}-{b}-{c}-{d}x").values_in(given) is None
