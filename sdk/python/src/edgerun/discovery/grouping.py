"""Endpoints of the report, made of sources and recorded declarations."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from .closure import ImportGraph
from .functions import describe_definition, find_definition, method_parameters
from .notes import Notes, Place
from .references import Declared, calls_between
from .sources import by_module, module_of

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]*")

Json = dict[str, Any]


def group(graph: ImportGraph, declarations: Iterable[Json], notes: Notes) -> list[Json]:
    """The complete endpoints, sorted by name; reports what cannot be deployed."""
    endpoints: dict[str, Json] = {}
    for declaration in declarations:
        endpoint = _endpoint(graph, declaration, notes)
        if endpoint is None:
            continue
        first = endpoints.setdefault(endpoint["name"], endpoint)
        if first is not endpoint:
            _fail_duplicate(first, endpoint, notes)
    _add_calls(graph, endpoints)
    return [endpoints[name] for name in sorted(endpoints)]


def _fail_duplicate(first: Json, second: Json, notes: Notes) -> None:
    notes.fail(
        Place(second["filePath"], second["line"]),
        f'the endpoint name "{second["name"]}" is taken: {_what(first)} has it, at {_place(first)}. '
        "One name is one endpoint, so give each its own.",
    )


def _what(endpoint: Json) -> str:
    functions = endpoint["functions"]
    return f"{functions[0]['name']}" if functions and not endpoint["isLoadBalanced"] else "an endpoint"


def _place(endpoint: Json) -> Place:
    return Place(endpoint["filePath"], endpoint["line"])


def _endpoint(graph: ImportGraph, declaration: Json, notes: Notes) -> Json | None:
    place = Place(declaration["file"], declaration["line"])
    if not declaration["functions"] and not declaration["isClient"]:
        notes.warn(place, _unused(declaration["name"]))
        return None
    if not _NAME.fullmatch(declaration["name"] or ""):
        notes.fail(
            place,
            f'the endpoint name "{declaration["name"]}" must begin with a letter or digit, '
            "and hold letters, digits, - and _ only.",
        )
        return None
    functions = [found for one in declaration["functions"] if (found := _function(graph, one, place, notes))]
    files = [function.pop("file") for function in functions]
    path, line = place.file, place.line
    if files and path not in files and files[0] is not None:
        path, line = files[0], functions[0]["line"]
    local = graph.closure({place.file, path, *(file for file in files if file)})
    return {
        **{key: value for key, value in declaration.items() if key != "file"},
        "filePath": path,
        "modulePath": module_of(path),
        "line": line,
        "functions": functions,
        "localFiles": sorted(local),
        "makesRemoteCalls": False,
        "calls": [],
    }


def _unused(name: str | None) -> str:
    shown = f'"{name}"' if name else "without a name"
    return (
        f"the endpoint {shown} has neither a function nor a route, so nothing is deployed for it. "
        'Decorate a function with it, or give it routes, such as @api.post("/path").'
    )


def _function(graph: ImportGraph, found: Json, place: Place, notes: Notes) -> Json | None:
    source = by_module(graph.sources).get(found["module"]) or graph.sources.get(found["file"] or "")
    definition = find_definition(source, found["name"], found["line"])
    name = found["name"] or (definition.name if definition else None)
    here = Place(source.path, definition.lineno) if source and definition else place
    if name is None or (source is not None and found["name"] is None and definition is None):
        notes.fail(
            here, "the decorated function is not at the top level of its module, where workers can import it."
        )
        return None
    if found["isClass"] and not found["methods"]:
        notes.fail(here, f"the class {name} has no public method that a job could call.")
    if found["needs"]:
        notes.fail(
            here,
            f"the class {name} is created without arguments in a worker, but its constructor needs "
            f"{', '.join(found['needs'])}. Give them defaults, or read them from the environment.",
        )
    copied = ("isAsync", "isGenerator", "isClass", "httpMethod", "httpPath")
    methods = {method["name"]: method_parameters(graph.sources, method) for method in found["methods"]}
    return {
        "name": name,
        "module": source.module if source else found["module"],
        "file": source.path if source else None,
        **{key: found[key] for key in copied},
        "classMethods": list(methods),
        "methodParameters": methods,
        **describe_definition(definition, methods),
    }


def _add_calls(graph: ImportGraph, endpoints: dict[str, Json]) -> None:
    declared = [
        Declared(name, function["module"], function["name"], is_queued=not endpoint["isLoadBalanced"])
        for name, endpoint in endpoints.items()
        for function in endpoint["functions"]
    ]
    declared += [
        Declared(name, endpoint["modulePath"], endpoint["configVariable"], is_queued=False)
        for name, endpoint in endpoints.items()
        if endpoint["isClient"] and endpoint["configVariable"]
    ]
    files = {n: e["localFiles"] for n, e in endpoints.items() if e["functions"]}
    for name, calls in calls_between(graph, declared, files).items():
        endpoints[name]["calls"] = calls
        endpoints[name]["makesRemoteCalls"] = bool(calls)
