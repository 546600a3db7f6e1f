"""From a request to the arguments of a route's function."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from ...signatures import signature_of
from ..json_text import NotJsonError, encode
from .conversion import Mismatch, convert, wants
from .message import RequestError, Request
from .multipart import is_form, read_form

# Requests with these methods carry their arguments in the query.
_OF_QUERY = ("GET", "HEAD", "DELETE")
_QUERY_FIELDS_MAX = 1_000

Detail = dict[str, Any]


class InvalidRequest(Exception):
    """A request whose values do not fit; what FastAPI's users know as the details of a 422."""

    def __init__(self, details: list[Detail]) -> None:
        super().__init__(details)
        self.details = details


class Parameters:
    """What the function of one route takes."""

    def __init__(self, function: Callable[..., Any], path_names: tuple[str, ...]) -> None:
        self._path_names = path_names
        parameters = signature_of(function).parameters.values()
        names = getattr(inspect.unwrap(function), "__globals__", {})
        self._annotations = {one.name: _type_of(one.annotation, names) for one in parameters}
        self._takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters)
        self._parameters = {
            one.name: one
            for one in parameters
            if one.kind not in (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
        }
        self._of_request = [name for name in self._parameters if name not in path_names]

    def bind(self, request: Request, path_values: Mapping[str, str]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments. Raises InvalidRequest, or Refusal when the body cannot be read."""
        values = _Values(self, request)
        values.take_path(path_values)
        if self._of_request or self._takes_any:
            values.take_request()
        return values.finish()

    def annotation(self, name: str) -> Any:
        return self._annotations.get(name, Any)

    def wants_list(self, name: str) -> bool:
        return wants(self.annotation(name), list, tuple)

    def is_required(self, name: str) -> bool:
        return self._parameters[name].default is inspect.Parameter.empty

    @property
    def only_dict(self) -> str | None:
        """The one parameter, a dictionary: it gets all of a body that does not name it."""
        if len(self._of_request) != 1 or self._takes_any:
            return None
        [name] = self._of_request
        return name if wants(self.annotation(name), dict, Mapping) else None

    @property
    def of_request(self) -> list[str]:
        return self._of_request

    @property
    def takes_any(self) -> bool:
        return self._takes_any

    @property
    def positional(self) -> list[inspect.Parameter]:
        return [one for one in self._parameters.values() if one.kind is inspect.Parameter.POSITIONAL_ONLY]


class _Values:
    """The values of one request, and all that is wrong with them."""

    def __init__(self, parameters: Parameters, request: Request) -> None:
        self._parameters = parameters
        self._request = request
        self._values: dict[str, Any] = {}
        self._details: list[Detail] = []

    def take_path(self, path_values: Mapping[str, str]) -> None:
        for name, text in path_values.items():
            self._convert(name, text, "path", is_text=True)

    def take_request(self) -> None:
        request = self._request
        content_type = request.headers.get("content-type", "")
        if request.method in _OF_QUERY:
            body = self._read_json() if request.body and not is_form(content_type) else {}
            self._take_fields({**body, **self._texts(_read_query(request.query))}, "query", is_text=not body)
        elif is_form(content_type) and not _is_json(content_type, request.body):
            self._take_fields(self._texts(read_form(content_type, request.body)), "body", is_text=True)
        elif request.body:
            self._take_body(self._read_json())
        else:
            self._take_fields({}, "body", is_text=False)

    def finish(self) -> tuple[list[Any], dict[str, Any]]:
        if self._details:
            raise InvalidRequest(self._details)
        placed = self._parameters.positional
        named = {one.name for one in placed}
        positional = [self._values.get(one.name, one.default) for one in placed]
        return positional, {name: value for name, value in self._values.items() if name not in named}

    # Fields

    def _take_body(self, body: dict[str, Any]) -> None:
        whole = self._parameters.only_dict
        if whole is not None and whole not in body:
            body = {whole: body}
        self._take_fields(body, "body", is_text=False)
        if whole is not None:  # Other members may or may not belong to it.
            self._reject_others([name for name in body if name != whole])

    def _take_fields(self, fields: Mapping[str, Any], source: str, *, is_text: bool) -> None:
        parameters = self._parameters
        for name in parameters.of_request:
            if name in fields:
                self._convert(name, fields[name], source, is_text=is_text)
            elif parameters.is_required(name):
                shown = {key: value for key, value in fields.items() if not isinstance(value, bytes)}
                self._reject("missing", (source, name), "Field required", shown)
        others = [name for name in fields if name not in parameters.of_request]
        if parameters.takes_any:
            self._values.update({name: fields[name] for name in others})
        elif source == "body" and others and len(others) == len(fields):
            self._reject_others(others)  # no field is known, so the body cannot be intended for this route

    def _reject_others(self, names: list[str]) -> None:
        for name in names:
            self._reject("extra_forbidden", ("body", name), "Extra inputs are not permitted", None)

    def _texts(self, fields: Mapping[str, list[Any]]) -> dict[str, Any]:
        return {
            name: all_ if self._parameters.wants_list(name) else all_[-1] for name, all_ in fields.items()
        }

    def _convert(self, name: str, value: Any, source: str, *, is_text: bool) -> None:
        try:
            self._values[name] = convert(value, self._parameters.annotation(name), is_text=is_text)
        except Mismatch as found:
            self._reject(found.kind, (source, name, *found.place), found.message, found.value)

    def _read_json(self) -> dict[str, Any]:
        try:
            body = json.loads(self._request.body)
        except json.JSONDecodeError as error:
            detail = _detail("json_invalid", ("body", error.pos), "JSON decode error", {})
            raise InvalidRequest([{**detail, "ctx": {"error": error.msg}}]) from None
        except (ValueError, RecursionError):
            raise InvalidRequest([_detail("json_invalid", ("body", 0), "JSON decode error", {})]) from None
        if not isinstance(body, dict):
            message = "Input should be an object with the route's parameters by name"
            raise InvalidRequest([_detail("dict_type", ("body",), message, body)])
        return body

    def _reject(self, kind: str, place: tuple[str | int, ...], message: str, value: Any) -> None:
        self._details.append(_detail(kind, place, message, value))


def _detail(kind: str, place: tuple[str | int, ...], message: str, value: Any) -> Detail:
    try:
        encode(value, "the input")
    except NotJsonError:
        value = None
    return {"type": kind, "loc": list(place), "msg": message, "input": value}


def _read_query(query: str) -> dict[str, list[str]]:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_QUERY_FIELDS_MAX)
    except ValueError:
        raise RequestError(400, "The query of the request cannot be read.") from None
    fields: dict[str, list[str]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _is_json(content_type: str, body: bytes) -> bool:
    """curl labels any body a form."""
    return "multipart" not in content_type.lower() and body.lstrip()[:1] == b"{"


def _type_of(annotation: Any, names: dict[str, Any]) -> Any:
    """Resolves an annotation, also one that is a string."""
    if annotation is inspect.Parameter.empty:
        return Any

    def holder() -> None: ...

    holder.__annotations__ = {"value": annotation}
    try:
        return typing.get_type_hints(holder, names)["value"]
    except Exception:  # of a name that exists for type checkers only
        return Any
