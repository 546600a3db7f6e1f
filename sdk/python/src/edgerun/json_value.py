"""Values as JSON carries them, without changing them on the way."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from .errors import SerializationError

DEPTH_MAX = 2_000
"""Levels of nesting that the service takes. Some versions of Python read and write fewer."""
# Python's own limit on digits of a number is never below this many bits.
_INT_SAFE_BITS = 2_000


class JsonLimitError(ValueError):
    """Valid JSON of which Python's json reads less: it nests too deeply, or a number has too many digits."""


def parse_json(text: bytes | str) -> Any:
    """What `json.loads` gives: whole numbers of any size, 1e400 as inf, -0 as 0, the last of repeated keys.

    Raises:
        ValueError: It is no JSON; JsonLimitError where it is JSON that Python's json does not read.
    """
    try:
        return json.loads(text)
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise
    except RecursionError:
        raise JsonLimitError("it is nested too deeply for Python's json") from None
    except ValueError as error:
        raise JsonLimitError(str(error)) from None


def parse_object(text: bytes | str) -> dict[str, Any]:
    """The members of a JSON object; empty for anything else."""
    try:
        parsed = parse_json(text)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}


def encode_json(value: Any, what: str) -> bytes:
    """`value` as JSON in UTF-8; `what` names it in errors, such as "argument 'image' of resize()".

    Raises:
        SerializationError: JSON cannot carry it as it is.
    """
    check_json(value, what)
    return dump_json(value, what)


def dump_json(value: Any, what: str) -> bytes:
    """The same for what users' functions return: as `json.dumps` has it, keys that are numbers become strings.

    Raises:
        SerializationError: JSON cannot carry it.
    """
    try:
        text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    except RecursionError:
        check_json(value, what)
        raise SerializationError(f"{what} is nested more deeply than Python's json writes.") from None
    except (TypeError, ValueError) as error:
        check_json(value, what)
        raise SerializationError(f"{what} cannot be carried by JSON: {error}.") from None
    # UTF-8 cannot encode a lone surrogate. It is inside a JSON string, where \ud800 is a valid escape.
    return text.encode("utf-8", "backslashreplace")


def check_json(value: Any, what: str) -> None:
    """Refuses what JSON cannot carry.

    Raises:
        SerializationError: The message names the place, the type and what to pass instead.
    """
    levels = [iter([(what, value)])]
    while levels:
        found = next(levels[-1], None)
        if found is None:
            levels.pop()
            continue
        inner = _items_of(found[1], found[0])
        if inner is None:
            continue
        if len(levels) > DEPTH_MAX:
            raise SerializationError(f"{what} is nested more than {DEPTH_MAX} deep, or holds itself.")
        levels.append(inner)


def _items_of(value: Any, what: str) -> Iterator[tuple[str, Any]] | None:
    """Places and values within a list or dictionary; None for other values."""
    if value is None or isinstance(value, (str, bool)):
        return None
    if isinstance(value, (int, float)):
        _check_number(value, what)
        return None
    if isinstance(value, (list, tuple)):
        return ((f"{what}[{index}]", item) for index, item in enumerate(value))
    if isinstance(value, dict):
        return _members_of(value, what)
    raise SerializationError(
        f"{what} is of type {_type_name(value)}, which JSON cannot carry: {_advice(value)}."
    )


def _members_of(value: dict[Any, Any], what: str) -> Iterator[tuple[str, Any]]:
    for key, item in value.items():
        _check_key(key, what)
        yield f"{what}[{key!r}]", item


def _check_number(value: float, what: str) -> None:
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SerializationError(
                f"{what} is {value!r}, which JSON cannot carry: pass None or a text instead."
            )
    elif value.bit_length() > _INT_SAFE_BITS:
        try:
            int.__repr__(value)
        except ValueError as error:
            raise SerializationError(f"{what} is too large a number: {error}. Or pass hex(…).") from None


def _check_key(key: object, what: str) -> None:
    if not isinstance(key, str):
        raise SerializationError(
            f"{what} has the key {key!r} of type {_type_name(key)}: keys must be texts in JSON, so pass str(key)."
        )


def _type_name(value: object) -> str:
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _advice(value: object) -> str:
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "pass a string, such as base64.b64encode(…).decode()"
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return "pass dataclasses.asdict(…)"
    if hasattr(value, "model_dump"):
        return "pass its .model_dump(mode='json')"
    if hasattr(value, "tolist"):
        return "pass its .tolist()"
    if isinstance(value, AbstractSet):
        return "pass a list, such as sorted(…)"
    if isinstance(value, Mapping):
        return "pass dict(…)"
    if isinstance(value, (datetime, date, time)):
        return "pass its .isoformat()"
    if isinstance(value, (PurePath, Decimal)):
        return "pass str(…)"
    return "pass strings, numbers, booleans, None, lists and dictionaries of them"
