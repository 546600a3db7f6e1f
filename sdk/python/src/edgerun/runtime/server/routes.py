"""The routes of an endpoint, and which of them a request is for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

from .parameters import Parameters
from .path_pattern import PathPattern, parameter_names


@dataclass(frozen=True)
class Route:
    """One function of an endpoint and where it is found."""

    method: str
    path: str
    function: Callable[..., Any]
    parameters: Parameters


def make_route(method: str, path: str, function: Callable[..., Any]) -> Route:
    return Route(method.upper(), path, function, Parameters(function, parameter_names(path)))


@dataclass(frozen=True)
class Found:
    """The route of a request and the values in its path."""

    route: Route
    path_values: dict[str, str]


class Routes:
    """Paths without parameters match before paths with some. A trailing slash is ignored unless a route declares it."""

    def __init__(self, routes: Iterable[Route]) -> None:
        self._exact: dict[str, dict[str, Route]] = {}
        self._patterns: dict[str, tuple[PathPattern, dict[str, Route]]] = {}
        for route in routes:
            self._place(route)

    def find(self, method: str, path: str) -> Found | list[str]:
        """The route; otherwise the methods of the path, empty when it is unknown."""
        found = self._find(method, path)
        if found or path == "/":
            return found
        return self._find(method, path.removesuffix("/") if path.endswith("/") else f"{path}/")

    def _find(self, method: str, path: str) -> Found | list[str]:
        allowed: dict[str, None] = {}
        for by_method, values in self._candidates(path):
            route = by_method.get(method) or (by_method.get("GET") if method == "HEAD" else None)
            if route is not None:
                return Found(route, values)
            allowed.update(dict.fromkeys(by_method))
        if "GET" in allowed:
            allowed["HEAD"] = None
        return sorted(allowed)

    def _place(self, route: Route) -> None:
        if not parameter_names(route.path):
            self._exact.setdefault(route.path, {})[route.method] = route
            return
        _, by_method = self._patterns.setdefault(route.path, (PathPattern(route.path), {}))
        by_method[route.method] = route

    def _candidates(self, path: str) -> Iterable[tuple[dict[str, Route], dict[str, str]]]:
        exact = self._exact.get(unquote(path))
        if exact is not None:
            yield exact, {}
        for pattern, by_method in self._patterns.values():
            values = pattern.values_in(path)
            if values is not None:
                yield by_method, {name: unquote(value) for name, value in values.items()}
