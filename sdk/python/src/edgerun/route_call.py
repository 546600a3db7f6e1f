"""One call of a route of another endpoint: an HTTP request, and what its answer means."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import quote

from .app_context import AppContext, find_app_context
from .connection import find_connection
from .errors import (
    CallTimeoutError,
    EndpointNotFoundError,
    HttpError,
    RemoteExecutionError,
    SerializationError,
)
from .http_exchange import BACK_OFF_FIRST_SECONDS, BACK_OFF_MAX_SECONDS, Request, back_off, exchange
from .json_value import check_json, encode_json, parse_object
from .live_call import LiveCall
from .live_peers import current as live_peers_of_worker
from .live_peers import stored_token
from .peers import forget_peers, peer_connection
from .query_text import query_text
from .remote_call import call_timeout_seconds, name_headers
from .route import OF_QUERY, Route
from .signatures import signature_of

if TYPE_CHECKING:
    from .endpoint import Endpoint

_PATH_NAME = re.compile(r"\{([^}]*)\}")
_LIVE_PATH = "/execute"
_LIVE_OUTCOME = "x-flash-live"
_NO_ENDPOINT = "endpoint_not_found"
_TOO_SLOW = "worker_too_slow"
_RATE_LIMITED = "rate_limited"
_INTERNAL_SERVER_ERROR = 500


@dataclass(frozen=True)
class RouteRequest:
    """A request to a route, without the URL of its endpoint."""

    method: str
    path: str
    query: str
    body: bytes | None

    @property
    def target(self) -> str:
        """Path and query."""
        return f"{self.path}?{self.query}" if self.query else self.path


def prepare_route_call(endpoint: Endpoint, route: Route, arguments: Mapping[str, Any]) -> Callable[[], Any]:
    """A function that sends the request and returns the result of the route. It blocks.

    Raises:
        SerializationError: HTTP cannot carry an argument; the message names it.
        AppContextError, APIKeyError: What the call needs is not known here.
    The function raises:
        EndpointNotFoundError: The environment has no such endpoint.
        CallTimeoutError: It took too long.
        RemoteExecutionError: The route's function raised.
        HttpError: The route, or the service, answered with any other error.
        ServiceUnreachableError: No answer came.
    """
    name = endpoint.name or ""
    function = route.function.__name__
    call = _Call(
        name,
        function,
        route_request(route, arguments),
        call_timeout_seconds(endpoint.execution_timeout_ms),
    )
    live_peers = live_peers_of_worker()
    if live_peers is None:
        return call.send
    live = LiveCall(name, function, None, {}, live_peers)
    return _LiveRouteCall(call, live, endpoint, find_app_context(name)).send


def route_request(route: Route, arguments: Mapping[str, Any]) -> RouteRequest:
    """Arguments as a route reads them: those that its path names there, the others as query or as JSON body.

    Raises:
        SerializationError: HTTP cannot carry an argument.
    """
    where = f"of {route.function.__name__}()"
    for name, value in arguments.items():
        check_json(value, f"argument '{name}' {where}")
    in_path = _PATH_NAME.findall(route.path)
    path = _PATH_NAME.sub(lambda match: _segment(match[1], arguments, where), route.path)
    others = {name: value for name, value in arguments.items() if name not in in_path}
    if route.method not in OF_QUERY:
        body = encode_json(others, f"the arguments {where}") if others else None
        return RouteRequest(route.method, path, "", body)
    return RouteRequest(route.method, path, _query(route, others, where), None)


def _segment(name: str, arguments: Mapping[str, Any], where: str) -> str:
    if name not in arguments:
        raise TypeError(f"argument '{name}' {where} is part of the path and must be given")
    value = arguments[name]
    text = _text(value) if isinstance(value, (str, bool, int, float)) else ""
    if text in ("", ".", ".."):
        raise SerializationError(
            f"argument '{name}' {where} is {value!r}, which cannot be part of a path: pass a string or a number."
        )
    return quote(text, safe="")


def _text(value: str | bool | float) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _query(route: Route, arguments: Mapping[str, Any], where: str) -> str:
    """Leaves out values that a query cannot express; the parameter then has its default."""
    parameters = signature_of(route.function).parameters
    for name, value in arguments.items():
        default = parameters[name].default if name in parameters else None
        if value in (None, [], ()) and default != value:
            raise SerializationError(
                f"argument '{name}' {where} is {value!r}, which the query of a {route.method} request cannot carry: "
                "leave it out, or make it a POST route."
            )
    return query_text(arguments, f"the arguments {where}")


@dataclass(frozen=True)
class _Call:
    endpoint_name: str
    function: str
    request: RouteRequest
    timeout_seconds: float

    @property
    def _shown(self) -> str:
        return f"{self.function}() of endpoint '{self.endpoint_name}'"

    def send(self) -> Any:
        peer = peer_connection(self.endpoint_name)
        if peer is not None:
            try:
                return self.exchange(f"{peer.url}{self.request.target}", peer.api_key)
            except EndpointNotFoundError:
                forget_peers()  # It is elsewhere by now.
        connection, context = find_connection(), find_app_context(self.endpoint_name)
        url = f"{connection.url}/lb/flash{self.request.target}"
        return self.exchange(url, connection.api_key, context=context)

    def exchange(
        self,
        url: str,
        key: str,
        *,
        context: AppContext | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Any:
        """Sends the request there, and again while the service is too busy to take it."""
        named = {} if context is None else name_headers(self.endpoint_name, context)
        deadline = time.monotonic() + self.timeout_seconds
        pause = BACK_OFF_FIRST_SECONDS
        while True:
            left = max(deadline - time.monotonic(), 0.001)
            sent = Request(
                self.request.method, url, key, left, self.request.body, {**named, **(headers or {})}
            )
            try:
                return exchange(sent)
            except TimeoutError:
                raise self._timeout() from None
            except HttpError as error:
                wait = back_off(error, pause) if error.code == _RATE_LIMITED else None
                if wait is None or time.monotonic() + wait > deadline:
                    self._raise(error, context)
            time.sleep(wait)
            pause = min(pause * 2, BACK_OFF_MAX_SECONDS)

    def _raise(self, error: HttpError, context: AppContext | None) -> NoReturn:
        if error.code == _NO_ENDPOINT:
            at = f" in app '{context.app}', environment '{context.environment}'" if context else ""
            raise EndpointNotFoundError(
                f"Endpoint '{self.endpoint_name}' was not found{at}: deploy it first. ({error})"
            ) from None
        if error.code == _TOO_SLOW:
            raise self._timeout() from None
        if _LIVE_OUTCOME in error.headers:
            raise error
        if error.status == _INTERNAL_SERVER_ERROR and error.code is None:
            raise RemoteExecutionError(
                f"{self._shown} raised: {error}. The traceback is in the log of its worker."
            ) from None
        raise error

    def _timeout(self) -> CallTimeoutError:
        return CallTimeoutError(
            f"{self._shown} took longer than {self.timeout_seconds:g} s. Wait longer by "
            "FLASH_SENTINEL_TIMEOUT=<seconds> or execution_timeout_ms= of the endpoint, "
            "or see in `flash env get` whether it has workers."
        )


@dataclass(frozen=True)
class _LiveRouteCall:
    """The same in a live worker: the request travels within one that brings the code."""

    call: _Call
    live: LiveCall
    endpoint: Endpoint
    context: AppContext

    def send(self) -> Any:
        try:
            answer = self._exchange(with_all_sources=False)
        except HttpError as error:
            if error.headers.get(_LIVE_OUTCOME) != "missing-modules":
                raise self._described(error) from None
            try:  # Nothing was run.
                answer = self._exchange(with_all_sources=True)
            except HttpError as again:
                raise self._described(again) from None
        self.live.note_taken()
        return answer

    def _exchange(self, *, with_all_sources: bool) -> Any:
        connection = find_connection()
        body = self.live.route_body(self._routes(), self.call.request, with_all_sources=with_all_sources)
        carrier = replace(self.call, request=RouteRequest("POST", _LIVE_PATH, "", body))
        return carrier.exchange(
            f"{connection.url}/lb/flash{_LIVE_PATH}",
            connection.api_key,
            context=self.context,
            headers={"X-Flash-Live-Token": stored_token()},
        )

    def _routes(self) -> list[Mapping[str, str]]:
        return [
            {
                "method": one.method,
                "path": one.path,
                "module": one.function.__module__,
                "function_name": one.function.__name__,
            }
            for one in self.endpoint.routes
        ]

    def _described(self, error: HttpError) -> Exception:
        """What the worker reports about an error of the code."""
        if _LIVE_OUTCOME not in error.headers:
            return error
        fields = parse_object(error.body)
        detail, traceback = fields.get("detail", error.body), fields.get("traceback")
        shown = f"\n\nRemote traceback:\n{traceback.rstrip()}" if isinstance(traceback, str) else ""
        return RemoteExecutionError(
            f"{self.call.function}() of endpoint '{self.call.endpoint_name}' failed: {detail}{shown}",
            remote_traceback=traceback if isinstance(traceback, str) else None,
        )
