"""JSON as Python reads and writes it."""

from __future__ import annotations

import json
import random
from typing import Any

import pytest
from json_texts import random_text

from edgerun import SerializationError
from edgerun.json_value import DEPTH_MAX, JsonLimitError, check_json, dump_json, encode_json, parse_json

DEEP = "[" * 100_000 + "]" * 100_000
LONG = "9" * 5_000


def nested(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels - 1):
        value = [value]
    return value


def test_what_is_read_is_written_with_the_same_meaning_and_stays_so() -> None:
    chance = random.Random(61)
    for _ in range(300):
        value = parse_json(random_text(chance))
        written = encode_json(value, "it")
        assert repr(parse_json(written)) == repr(value)  # repr tells 1 from 1.0, and -0.0 from 0.0
        assert encode_json(parse_json(written), "it") == written


@pytest.mark.parametrize(
    ("text", "written"),
    [
        (
            '{"seed":18446744073709551615,"cfg":7.0,"f":-0.0}',
            '{"seed":18446744073709551615,"cfg":7.0,"f":-0.0}',
        ),
        ('{"b":1,"a":"\\ud800 \\udfff é"}', '{"b":1,"a":"\\ud800 \\udfff é"}'),
        # What Python itself does not keep.
        ('[-0,1E5,1.10,1e-400,"\\/"]', '[0,100000.0,1.1,0.0,"/"]'),
        ('{"a":1,"a":2}', '{"a":2}'),
    ],
)
def test_python_keeps_values_and_not_their_spelling(text: str, written: str) -> None:
    assert encode_json(parse_json(text), "it").decode() == written


def test_json_that_python_does_not_read_is_told_from_what_is_no_json() -> None:
    for text in (DEEP, LONG):
        with pytest.raises(JsonLimitError):
            parse_json(text)
    for text in ("{", "", "nul"):
        with pytest.raises(json.JSONDecodeError):
            parse_json(text)


def test_values_that_are_too_deep_are_rejected_and_never_a_recursion_error() -> None:
    check_json(nested(DEPTH_MAX), "it")
    with pytest.raises(SerializationError, match="nested more than 2000 deep"):
        check_json(nested(DEPTH_MAX + 1), "it")
    for levels in (DEPTH_MAX + 1, 100_000):
        with pytest.raises(SerializationError, match="it is nested more"):
            encode_json(nested(levels), "it")
    with pytest.raises(SerializationError, match="it is nested more"):
        dump_json(nested(100_000), "it")


def test_a_number_that_python_does_not_write_is_named() -> None:
    with pytest.raises(SerializationError, match=r"it\['a'\]\[1\] is too large a number"):
        dump_json({"a": [1, 10**5_000]}, "it")
    with pytest.raises(SerializationError, match=r"it\['a'\] is inf"):
        dump_json({"a": parse_json("1e400")}, "it")
