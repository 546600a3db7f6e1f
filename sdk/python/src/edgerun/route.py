"""Routes of load-balanced endpoints."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .signatures import signature_of

METHODS = ("GET", "POST", "PUT", "DELETE", "PATCH")
OF_QUERY = ("GET", "DELETE")
"""Methods whose parameters workers read from the URL."""
RESERVED_PATHS = ("/ping", "/execute")


@dataclass(frozen=True)
class Route:
    """A function that answers HTTP requests; `{name}` in its path is one of the function's parameters."""

    method: str
    path: str
    function: Callable[..., Any]


def read_path(path: object) -> str:
    """Checks the path of a route.

    Raises:
        ValueError: It does not begin with a slash, or workers answer it themselves.
    """
    if not isinstance(path, str) or not path.startswith("/"):
        raise ValueError(f'path={path!r} must be a text that begins with "/", such as "/items/{{item_id}}".')
    if path in RESERVED_PATHS:
        raise ValueError(
            f"path={path!r} is reserved: workers answer {' and '.join(RESERVED_PATHS)} themselves."
        )
    return path


def refuse_second(route: Route, before: list[Route]) -> None:
    """A method and path can have one function only.

    Raises:
        ValueError: They have one already, which the message names.
    """
    for other in before:
        if (other.method, other.path) == (route.method, route.path):
            raise ValueError(
                f"{route.method} {route.path} of {route.function.__qualname__}() is taken already, "
                f"by {place_of(other.function)}."
            )


def refuse_unknown_names(route: Route) -> None:
    """What a path names is given to the function.

    Raises:
        ValueError: The function does not take it; or no parameter is named so, as in `{file:path}`.
    """
    try:
        parameters = signature_of(route.function).parameters
    except (TypeError, ValueError):  # some functions written in C have no signature
        return
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    for name in re.findall(r"\{([^}]*)\}", route.path):
        if not (name.isascii() and name.isidentifier()) or (name not in parameters and not takes_any):
            raise ValueError(
                f"path={route.path!r} names {{{name}}}, which must be a parameter of {place_of(route.function)}."
            )


def place_of(function: Any) -> str:
    """Where a function or class stands, as `name() (file:line)`."""
    name = f"{function.__qualname__}()" if not isinstance(function, type) else function.__qualname__
    code = getattr(inspect.unwrap(function), "__code__", None)
    return (
        f"{name} ({code.co_filename}:{code.co_firstlineno})" if code else f"{name} in {function.__module__}"
    )
