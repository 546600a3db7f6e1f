"""What the source says of a declared function: parameters as written, its description, its line."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from typing import Any

from .sources import Definition, Source, definitions, first_line

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def find_definition(source: Source | None, name: str | None, line: int | None) -> Definition | None:
    """The definition of this name, or else the one that begins at `line` for Python."""
    found = definitions(source) if source else []
    named = [definition for definition in found if definition.name == name]
    at_line = [definition for definition in found if first_line(definition) == line]
    both = [definition for definition in named if definition in at_line]
    return next(iter([*both, *named[-1:], *at_line]), None)


def describe_definition(definition: Definition | None, methods: list[str]) -> dict[str, Any]:
    """`line`, `description` and `parameters` of the report."""
    if definition is None:
        return {"line": 1, "description": None, "parameters": []}
    docstring = (ast.get_docstring(definition) or "").strip()
    return {
        "line": definition.lineno,
        "description": docstring.splitlines()[0].strip() if docstring else None,
        "parameters": _parameters_of(definition, methods),
    }


def _parameters_of(definition: Definition, methods: list[str]) -> list[dict[str, Any]]:
    if not isinstance(definition, ast.ClassDef):
        return _parameters(definition, skips_first=False)
    if len(methods) != 1:
        return []
    for member in definition.body:
        if isinstance(member, (ast.FunctionDef, ast.AsyncFunctionDef)) and member.name == methods[0]:
            is_static = any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in member.decorator_list)
            return _parameters(member, skips_first=not is_static)
    return []


def _parameters(function: _Function, *, skips_first: bool) -> list[dict[str, Any]]:
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


def _parameter(argument: ast.arg, kind: str, default: ast.expr | None) -> dict[str, Any]:
    return {
        "name": argument.arg,
        "kind": kind,
        "annotation": ast.unparse(argument.annotation) if argument.annotation else None,
        "isRequired": default is None and not kind.startswith("var_"),
        **_default(default),
    }


def _default(default: ast.expr | None) -> Mapping[str, Any]:
    """The default where JSON can tell it, else nothing."""
    if default is None:
        return {}
    try:
        value = json.loads(json.dumps(ast.literal_eval(default), allow_nan=False))
    except (TypeError, ValueError, SyntaxError, MemoryError, RecursionError):
        return {}
    return {"default": value}
