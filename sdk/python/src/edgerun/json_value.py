"""Values as JSON carries them, without changing them on the way."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import PurePath
from typing import Any

from .errors import SerializationError

_NESTING_MAX = 200


def encode_json(value: Any, what: str) -> bytes:
    """`value` as JSON; `what` names it in errors, such as "argument 'image' of resize()".

    Raises:
        SerializationError: JSON cannot carry it as it is.
    """
    check_json(value, what)
    text = json.dumps(value, allow_nan=False, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SerializationError(
            f"{what} holds text with half a character (a lone surrogate): decode it properly before."
        ) from None


def check_json(value: Any, what: str, depth: int = 0) -> None:
    """Refuses what JSON cannot carry.

    Raises:
        SerializationError: The message names the place, the type and what to pass instead.
    """
    if value is None or isinstance(value, (str, bool, int)):
        return
    if depth > _NESTING_MAX:
        raise SerializationError(f"{what} is nested more than {_NESTING_MAX} deep, or holds itself.")
    if isinstance(value, float):
        if not math.isfinite(value):
            raise SerializationError(
                f"{what} is {value!r}, which JSON cannot carry: pass None or a text instead."
            )
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            check_json(item, f"{what}[{index}]", depth + 1)
    elif isinstance(value, dict):
        for key, item in value.items():
            _check_key(key, what)
            check_json(item, f"{what}[{key!r}]", depth + 1)
    else:
        raise SerializationError(
            f"{what} is of type {_type_name(value)}, which JSON cannot carry: {_advice(value)}."
        )


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
        return "pass a text, such as base64.b64encode(…).decode()"
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
    return "pass texts, numbers, booleans, None, lists and dictionaries of them"
