"""Values as the query of a URL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from .errors import SerializationError


def query_text(data: Mapping[str, Any], what: str = "data") -> str:
    """`data` as `name=value&…`: lists repeat their name, None is left out, booleans are true and false.

    `what` names it in errors.

    Raises:
        SerializationError: A query cannot carry a value.
    """
    return urlencode([(name, text) for name, value in data.items() for text in _texts(name, value, what)])


def _texts(name: str, value: Any, what: str) -> list[str]:
    if value is None:
        return []
    if isinstance(value, bool):
        return ["true" if value else "false"]
    if isinstance(value, (str, int, float)):
        return [str(value)]
    if isinstance(value, (list, tuple)):
        return [text for item in value for text in _texts(name, item, what)]
    raise SerializationError(
        f"{what}[{name!r}] is of type {type(value).__name__}, which a query cannot carry: "
        "pass strings, numbers, booleans or lists of them, or use a route that takes a body."
    )
