"""What `endpoint.post("/path")` gives: a decorator of a route, or a request to be awaited."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

from .route import Route

F = TypeVar("F", bound=Callable[..., Any])

DEFAULT_TIMEOUT_SECONDS = 60.0


class Verb:
    """A method and path of an endpoint: of one with code a decorator, of a client a request."""

    def __init__(
        self,
        endpoint: object,
        method: str,
        path: str,
        *,
        register: Callable[[Route], Callable[..., Any]] | None,
        send: Callable[[], Awaitable[Any]] | None,
    ) -> None:
        self._shown = f"{endpoint!r}.{method.lower()}({path!r})"
        self._method = method
        self._path = path
        self._register = register
        self._send = send

    @classmethod
    def route(
        cls, endpoint: object, method: str, path: str, register: Callable[[Route], Callable[..., Any]]
    ) -> Verb:
        """A decorator that passes its function to `register`, and returns its result."""
        return cls(endpoint, method, path, register=register, send=None)

    @classmethod
    def request(cls, endpoint: object, method: str, path: str, send: Callable[[], Awaitable[Any]]) -> Verb:
        """A request that is sent by `send` when it is awaited."""
        return cls(endpoint, method, path, register=None, send=send)

    def __call__(self, function: F) -> F:
        """Makes `function` the route's function. In workers of other endpoints calls of it go to the route."""
        if self._register is None:
            raise TypeError(
                f"{self._shown} is a request of a client, to be awaited, and no decorator: "
                "routes are declared on an Endpoint(name=…) without id and image."
            )
        return cast(F, self._register(Route(self._method, self._path, function)))

    def __await__(self) -> Generator[Any, Any, Any]:
        """Sends the request and returns the parsed JSON of the answer."""
        if self._send is None:
            raise TypeError(
                f"{self._shown} declares a route and cannot be awaited: "
                "to call a deployed route use Endpoint(id=…), or call the function for a local run."
            )
        return self._send().__await__()

    def __repr__(self) -> str:
        return self._shown
