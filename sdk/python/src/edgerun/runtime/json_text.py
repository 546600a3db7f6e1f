"""Results as JSON."""

from __future__ import annotations

from typing import Any

from ..errors import SerializationError
from ..json_value import dump_json


class NotJsonError(TypeError):
    """A value that JSON cannot represent; the message names its place, its type and an alternative."""


def encode(value: Any, what: str) -> bytes:
    """Encodes JSON in UTF-8. `what` names the value in errors, as in "output". Raises NotJsonError."""
    try:
        return dump_json(value, what)
    except SerializationError as error:
        raise NotJsonError(str(error)) from None
