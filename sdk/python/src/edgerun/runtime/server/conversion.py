"""Converts values of requests to the annotations of a function, with the rules and messages of FastAPI."""

from __future__ import annotations

import collections.abc
import datetime
import enum
import math
import types
import typing
import uuid
from typing import Any

from ...json_value import parse_json

Place = tuple[str | int, ...]


class Mismatch(ValueError):
    """A value that does not fit; `place` leads to it from the parameter."""

    def __init__(self, kind: str, message: str, value: Any, place: Place = ()) -> None:
        super().__init__(message)
        self.kind = kind
        self.message = message
        self.value = value
        self.place = place


def convert(value: Any, annotation: Any, *, is_text: bool) -> Any:
    """Converts a value to an annotation. `is_text`: from a path, query or form. Raises Mismatch."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return convert(value, arguments[0], is_text=is_text)
    if origin in (typing.Union, types.UnionType):
        return _convert_union(value, arguments, is_text)
    if origin is typing.Literal:
        return _convert_choice(
            value, {str(one) if is_text else one: one for one in arguments}, "literal_error"
        )
    kind = origin or annotation
    if kind in _SIMPLE:
        return _SIMPLE[kind](value, is_text)
    if kind in (list, tuple, collections.abc.Sequence):
        return _convert_list(value, kind, arguments, is_text)
    if kind in (dict, collections.abc.Mapping):
        return _convert_dict(value, arguments, is_text)
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        return _convert_choice(value, {str(one.value) if is_text else one.value: one for one in kind}, "enum")
    return value


def wants(annotation: Any, *kinds: type) -> bool:
    """Whether the annotation is one of these types, or may be."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return wants(arguments[0], *kinds)
    if origin in (typing.Union, types.UnionType):
        return any(wants(one, *kinds) for one in arguments)
    return (origin or annotation) in kinds


# Simple values


def _convert_bool(value: Any, is_text: bool) -> bool:
    if isinstance(value, bool):
        return value
    boolean_values = {
        "true": True,
        "on": True,
        "yes": True,
        "1": True,
        "false": False,
        "off": False,
        "no": False,
        "0": False,
    }
    if isinstance(value, str) and value.lower() in boolean_values:
        return boolean_values[value.lower()]
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, (str, int, float)):
        raise Mismatch("bool_parsing", "Input should be a valid boolean, unable to interpret input", value)
    raise Mismatch("bool_type", "Input should be a valid boolean", value)


def _convert_int(value: Any, is_text: bool) -> int:
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if value.is_integer():
            return int(value)
        text = "Input should be a valid integer, got a number with a fractional part"
        raise Mismatch("int_from_float", text, value)
    if not isinstance(value, str):
        raise Mismatch("int_type", "Input should be a valid integer", value)
    try:
        return int(value.strip())
    except ValueError:
        text = "Input should be a valid integer, unable to parse string as an integer"
        raise Mismatch("int_parsing", text, value) from None


def _convert_float(value: Any, is_text: bool) -> float:
    if not isinstance(value, (int, float, str)):
        raise Mismatch("float_type", "Input should be a valid number", value)
    try:
        number = float(value)
    except (ValueError, OverflowError):
        text = "Input should be a valid number, unable to parse string as a number"
        raise Mismatch("float_parsing", text, value) from None
    if not math.isfinite(number):
        raise Mismatch("finite_number", "Input should be a finite number", value)
    return number


def _convert_str(value: Any, is_text: bool) -> str:
    if isinstance(value, str):
        return value
    raise Mismatch(
        "string_type", "Input should be a valid string", None if isinstance(value, bytes) else value
    )


def _convert_bytes(value: Any, is_text: bool) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str) and is_text:
        return value.encode("utf-8")
    raise Mismatch("bytes_type", "Input should be a file in a form (multipart/form-data)", value)


def _convert_none(value: Any, is_text: bool) -> None:
    if value is None:
        return None
    raise Mismatch("none_required", "Input should be None", value)


def _convert_uuid(value: Any, is_text: bool) -> uuid.UUID:
    try:
        return uuid.UUID(value)
    except (ValueError, TypeError, AttributeError):
        raise Mismatch("uuid_parsing", "Input should be a valid UUID", value) from None


def _convert_datetime(value: Any, is_text: bool) -> datetime.datetime:
    try:
        return datetime.datetime.fromisoformat(value.replace("Z", "+00:00"))
    except (ValueError, AttributeError):
        raise Mismatch("datetime_parsing", "Input should be a valid datetime", value) from None


def _convert_date(value: Any, is_text: bool) -> datetime.date:
    try:
        return datetime.date.fromisoformat(value)
    except (ValueError, TypeError):
        raise Mismatch("date_parsing", "Input should be a valid date", value) from None


_SIMPLE: dict[Any, collections.abc.Callable[[Any, bool], Any]] = {
    bool: _convert_bool,
    int: _convert_int,
    float: _convert_float,
    str: _convert_str,
    bytes: _convert_bytes,
    None: _convert_none,
    type(None): _convert_none,
    uuid.UUID: _convert_uuid,
    datetime.datetime: _convert_datetime,
    datetime.date: _convert_date,
}


# Values made of others


def _convert_union(value: Any, members: tuple[Any, ...], is_text: bool) -> Any:
    exact = [one for one in members if isinstance(one, type) and type(value) is one]
    mismatch: Mismatch | None = None
    for member in [*exact, *members]:
        if is_text and member is type(None):
            continue
        try:
            return convert(value, member, is_text=is_text)
        except Mismatch as found:
            mismatch = mismatch or found
    raise mismatch or Mismatch("none_required", "Input should be None", value)


def _convert_choice(value: Any, choices: dict[Any, Any], kind: str) -> Any:
    for choice, meant in choices.items():
        if type(choice) is type(value) and choice == value:
            return meant
    shown = [repr(choice) for choice in choices]
    text = " or ".join(part for part in (", ".join(shown[:-1]), shown[-1]) if part)
    raise Mismatch(kind, f"Input should be {text}", value)


def _convert_list(value: Any, kind: Any, arguments: tuple[Any, ...], is_text: bool) -> Any:
    if not isinstance(value, list):
        raise Mismatch("list_type", "Input should be a valid list", value)
    inner = arguments[0] if arguments and (kind is not tuple or arguments[1:] == (...,)) else Any
    converted = [_convert_inner(one, inner, index, is_text) for index, one in enumerate(value)]
    return tuple(converted) if kind is tuple else converted


def _convert_dict(value: Any, arguments: tuple[Any, ...], is_text: bool) -> Any:
    if is_text and isinstance(value, str):
        value = _parse(value)
    if not isinstance(value, dict):
        raise Mismatch("dict_type", "Input should be a valid dictionary", value)
    if len(arguments) != 2:
        return value
    return {
        _convert_inner(key, arguments[0], key, True): _convert_inner(one, arguments[1], key, False)
        for key, one in value.items()
    }


def _convert_inner(value: Any, annotation: Any, key: str | int, is_text: bool) -> Any:
    try:
        return convert(value, annotation, is_text=is_text)
    except Mismatch as found:
        raise Mismatch(found.kind, found.message, found.value, (key, *found.place)) from None


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except ValueError:
        return text
