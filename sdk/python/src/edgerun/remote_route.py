"""A route's function in workers of other endpoints: calls of it become requests to the route."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any

from .http_exchange import in_thread
from .remote_function import keyword_arguments
from .route import Route, place_of
from .signatures import signature_of

if TYPE_CHECKING:
    from .endpoint import Endpoint


def remote_route(endpoint: Endpoint, route: Route) -> Callable[..., Any]:
    """A function of the same kind and signature as the route's: one that is awaited, or one that waits itself."""
    function = route.function
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return _refusing(route)
    signature = signature_of(function)

    def prepared(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Callable[[], Any]:
        from .route_call import prepare_route_call  # most workers call no other endpoint

        return prepare_route_call(endpoint, route, keyword_arguments(signature, args, kwargs))

    @wraps(function)
    async def remote(*args: Any, **kwargs: Any) -> Any:
        return await in_thread(prepared(args, kwargs))

    @wraps(function)
    def waiting(*args: Any, **kwargs: Any) -> Any:
        return prepared(args, kwargs)()

    return remote if inspect.iscoroutinefunction(function) else waiting


def _refusing(route: Route) -> Callable[..., Any]:
    @wraps(route.function)
    def refuse(*args: Any, **kwargs: Any) -> Any:
        raise TypeError(
            f"{place_of(route.function)} yields, and a route that streams cannot be called from another endpoint: "
            "return the whole result, or read the stream by an HTTP client of your own."
        )

    return refuse
