"""Results as JSON."""

from __future__ import annotations

import json
from typing import Any

from ..errors import SerializationError
from ..json_value import check_json


class NotJsonError(TypeError):
    """A value that JSON cannot carry; the text names its place and type, and what to use instead."""


def encode(value: Any, what: str) -> bytes:
    """JSON text in UTF-8. `what` names the value in errors, as in "output". Raises NotJsonError."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise NotJsonError(f"{what} holds text with half a character (a lone surrogate).") from None
    except (TypeError, ValueError, RecursionError) as error:
        raise NotJsonError(_explain(value, what, error)) from None


def _explain(value: Any, what: str, error: Exception) -> str:
    try:
        check_json(value, what)
    except SerializationError as found:
        return str(found)
    return f"{what} cannot be carried by JSON: {error}."
