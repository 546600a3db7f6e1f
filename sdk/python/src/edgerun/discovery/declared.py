"""Recorded declarations as JSON: what only imported code can tell."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Callable
from typing import Any

from ..declarations import Declaration
from ..remote_class import public_methods
from ..signatures import signature_of
from .modules import Trial
from .notes import Place


def describe(trial: Trial) -> list[dict[str, Any]]:
    """All deployable declarations of the project's own files."""
    return [
        described
        for declaration in trial.declared
        if (file := trial.relative(declaration.file)) is not None
        if (described := _describe(trial, declaration, Place(file, declaration.line))) is not None
    ]


def _describe(trial: Trial, declaration: Declaration, place: Place) -> dict[str, Any] | None:
    endpoint = declaration.endpoint
    if endpoint.id is not None:
        return None
    functions = [_function(trial, route.function, route.method, route.path) for route in endpoint.routes]
    if endpoint.target is not None:
        functions.append(_function(trial, endpoint.target, None, None))
    try:
        resource = json.loads(json.dumps(endpoint.resource(), allow_nan=False))
    except (TypeError, ValueError) as error:
        trial.notes.fail(place, f"the declaration cannot be read: {error}")
        return None
    return {
        "name": endpoint.name,
        "file": place.file,
        "line": place.line,
        "configVariable": _variable(trial, endpoint, place.file),
        "isLoadBalanced": endpoint.is_load_balanced,
        "isClient": endpoint.is_client,
        "resource": resource,
        "dependencies": list(endpoint.dependencies or ()),
        "systemDependencies": list(endpoint.system_dependencies or ()),
        "accelerateDownloads": endpoint.accelerate_downloads,
        "pythonVersion": endpoint.python_version,
        "functions": functions,
    }


def _function(
    trial: Trial, function: Callable[..., Any], method: str | None, path: str | None
) -> dict[str, Any]:
    inner: Any = inspect.unwrap(function)
    is_class = inspect.isclass(inner)
    code = getattr(inner, "__code__", None)
    return {
        "name": _name(function),
        "module": getattr(function, "__module__", None) or "",
        "file": trial.relative(code.co_filename) if code else _file_of_class(trial, inner),
        "line": code.co_firstlineno if code else None,
        "isAsync": inspect.iscoroutinefunction(function) or inspect.isasyncgenfunction(function),
        "isGenerator": inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function),
        "isClass": is_class,
        "methods": [_method(trial, inner, name) for name in public_methods(inner)] if is_class else [],
        "needs": _constructor_needs(inner) if is_class else [],
        "httpMethod": method,
        "httpPath": path,
    }


def _method(trial: Trial, target: type, name: str) -> dict[str, Any]:
    """A public method, and where its code is, perhaps in a base class."""
    code = getattr(inspect.unwrap(getattr(target, name)), "__code__", None)
    return {
        "name": name,
        "file": trial.relative(code.co_filename) if code else None,
        "line": code.co_firstlineno if code else None,
        "isStatic": isinstance(inspect.getattr_static(target, name), staticmethod),
    }


def _name(function: Callable[..., Any]) -> str | None:
    """Its name in its module; None where it has none."""
    module = sys.modules.get(getattr(function, "__module__", None) or "")
    names = vars(module) if module else {}
    own = getattr(function, "__name__", None)
    ordered = [own, *names] if own in names else list(names)
    return next((name for name in ordered if name and _leads_to(names[name], function)), None)


def _leads_to(value: Any, function: Callable[..., Any]) -> bool:
    for _ in range(100):
        if value is function:
            return True
        try:
            inner = vars(value).get("__wrapped__")
        except TypeError:
            return False
        if inner is None:
            return False
        value = inner
    return False


def _file_of_class(trial: Trial, target: Any) -> str | None:
    module = sys.modules.get(getattr(target, "__module__", None) or "")
    file = getattr(module, "__file__", None)
    return trial.relative(file) if file else None


def _constructor_needs(target: type) -> list[str]:
    try:
        parameters = signature_of(target).parameters.values()
    except (TypeError, ValueError):
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind not in variable]


def _variable(trial: Trial, endpoint: object, file: str) -> str | None:
    """The variable of the endpoint in its module."""
    where = trial.root / file
    for module in list(sys.modules.values()):
        if vars(module).get("__file__") == str(where):
            return next((name for name, value in list(vars(module).items()) if value is endpoint), None)
    return None
