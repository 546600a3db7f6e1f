"""A decorated function outside its worker: calls of it become jobs of its endpoint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import TYPE_CHECKING, Any

from .remote_call import call_remote
from .signatures import signature_of

if TYPE_CHECKING:
    from .endpoint import Endpoint


def remote_function(
    endpoint: Endpoint, function: Callable[..., Any]
) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A coroutine function with the signature of `function` that runs it on `endpoint`."""
    signature = signature_of(function)

    @wraps(function)
    async def remote(*args: Any, **kwargs: Any) -> Any:
        return await call_remote(endpoint, function.__name__, keyword_arguments(signature, args, kwargs))

    return remote


def keyword_arguments(
    signature: inspect.Signature, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> dict[str, Any]:
    """The arguments by name, as workers are given them; defaults are left to the worker.

    Raises:
        TypeError: They do not fit the signature, or some have no name.
    """
    bound = signature.bind(*args, **kwargs).arguments
    named: dict[str, Any] = {}
    for name, value in bound.items():
        kind = signature.parameters[name].kind
        if kind is inspect.Parameter.VAR_POSITIONAL:
            raise TypeError(f"arguments of *{name} have no names and cannot be sent: pass a list instead")
        if kind is inspect.Parameter.VAR_KEYWORD:
            named.update(value)
        else:
            named[name] = value
    return named
