"""Results as JSON, and what to do about those that are none."""

from __future__ import annotations

import dataclasses
import json
import math
from typing import Any


class NotJsonError(TypeError):
    """A value that JSON cannot carry; the text names its place and type, and what to use instead."""


def encode(value: Any, what: str) -> bytes:
    """JSON text in UTF-8. `what` names the value in errors, as in "output". Raises NotJsonError."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        return text.encode("utf-8")
    except UnicodeEncodeError:
        raise NotJsonError(f"{what} holds text with half a character (a lone surrogate); decode it properly.") from None
    except RecursionError:
        raise NotJsonError(f"{what} is nested too deeply for JSON.") from None
    except (TypeError, ValueError) as error:
        raise NotJsonError(_explain(value, what, str(error))) from None


def _explain(value: Any, what: str, fallback: str) -> str:
    found = _find(value, what, set())
    if found is None:
        return f"{what} is not JSON: {fallback}."
    path, culprit = found
    if "Circular" in fallback:
        return f"{path} is a part of itself, which JSON cannot carry."
    return f"{path} is {_name(culprit)}, which JSON cannot carry. {_advice(culprit)}"


def _find(value: Any, path: str, above: set[int]) -> tuple[str, Any] | None:
    """The first value that is not JSON, and where it stands."""
    if id(value) in above:
        return path, value
    if isinstance(value, float):
        return None if math.isfinite(value) else (path, value)
    if value is None or isinstance(value, (str, int)):
        return None
    if not isinstance(value, (dict, list, tuple)):
        return path, value
    pairs = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in pairs:
        if not isinstance(key, (str, int, float, type(None))):
            return f"the key {key!r} in {path}", key
        found = _find(inner, f"{path}[{key!r}]", above | {id(value)})
        if found is not None:
            return found
    return None


def _name(value: Any) -> str:
    if isinstance(value, float):
        return repr(value)
    kind = type(value)
    name = kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"
    return f"of type {name}"


def _advice(value: Any) -> str:
    if isinstance(value, float):
        return "Use None or text instead."
    if isinstance(value, (bytes, bytearray, memoryview)):
        return "Return text, for example base64.b64encode(value).decode(), or the address of a stored file."
    if isinstance(value, (set, frozenset)):
        return "Use list(value)."
    if dataclasses.is_dataclass(value):
        return "Use dataclasses.asdict(value)."
    for method in ("tolist", "model_dump", "isoformat"):
        if hasattr(value, method):
            return f"Use value.{method}()."
    return "Use dict, list, str, int, float, bool and None only."
