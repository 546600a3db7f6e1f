"""Parameters, description and line of a declared function, from its source."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from .sources import Definition, Source, definitions, first_line

_Function = ast.FunctionDef | ast.AsyncFunctionDef

Parameter = dict[str, Any]

# For code outside of the project, which may take anything.
_ANYTHING: Parameter = {"name": "arguments", "kind": "var_keyword", "annotation": None, "isRequired": False}


def find_definition(source: Source | None, name: str | None, line: int | None) -> Definition | None:
    """The definition of this name, else the one that begins at `line`."""
    found = definitions(source) if source else []
    named = [definition for definition in found if definition.name == name]
    at_line = [definition for definition in found if first_line(definition) == line]
    both = [definition for definition in named if definition in at_line]
    return next(iter([*both, *named[-1:], *at_line]), None)


def describe_definition(
    definition: Definition | None, methods: Mapping[str, list[Parameter]]
) -> dict[str, Any]:
    """`line`, `description` and `parameters` of the report."""
    if definition is None:
        return {"line": 1, "description": None, "parameters": [_ANYTHING]}
    docstring = (ast.get_docstring(definition) or "").strip()
    of_only_method = next(iter(methods.values())) if len(methods) == 1 else []
    return {
        "line": definition.lineno,
        "description": docstring.splitlines()[0].strip() if docstring else None,
        "parameters": of_only_method
        if isinstance(definition, ast.ClassDef)
        else _parameters(definition, skips_first=False),
    }


def method_parameters(sources: Mapping[str, Source], method: Mapping[str, Any]) -> list[Parameter]:
    """Parameters of a method, without `self`; anything where its code is outside of the project."""
    source = sources.get(method["file"] or "")
    for node in ast.walk(source.tree) if source else ():
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) and first_line(node) == method["line"]:
            return _parameters(node, skips_first=not method["isStatic"])
    return [_ANYTHING]


def _parameters(function: _Function, *, skips_first: bool) -> list[Parameter]:
    arguments = function.args
    positional = [*arguments.posonlyargs, *arguments.args]
    unset: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    found = [
        _parameter(argument, "positional", default)
        for argument, default in zip(positional, [*unset, *arguments.defaults], strict=True)
    ][1 if skips_first else 0 :]
    if arguments.vararg:
        found.append(_parameter(arguments.vararg, "var_positional", None))
    found += [
        _parameter(argument, "keyword", default)
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
    ]
    if arguments.kwarg:
        found.append(_parameter(arguments.kwarg, "var_keyword", None))
    return found


def _parameter(argument: ast.arg, kind: str, default: ast.expr | None) -> Parameter:
    return {
        "name": argument.arg,
        "kind": kind,
        "annotation": ast.unparse(argument.annotation) if argument.annotation else None,
        "isRequired": default is None and not kind.startswith("var_"),
        **_default(default),
    }


def _default(default: ast.expr | None) -> Mapping[str, Any]:
    """The default where JSON can represent it, else nothing."""
    if default is None:
        return {}
    try:
        value = json.loads(json.dumps(ast.literal_eval(default), allow_nan=False))
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return {"default": value}
