"""Which files may declare endpoints, and so must be imported."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

from .closure import ImportGraph
from .imports import imports_of
from .sources import Source, definitions, live_nodes, cached_per_source

SDK = "edgerun"

ASIDE = frozenset({"env", "build", "dist", "docs", "tests"})
"""Directories that are part of an app only where its code imports them."""


@dataclass(frozen=True)
class Candidates:
    """Files that reference the SDK, or that decorate with a name out of one that does; each list sorted."""

    files: list[str]
    """Modules to import."""
    packages: list[str]
    """`__init__.py` files, which are imported with the modules of their packages."""
    aside: list[str]
    """Files in directories that are not part of the app."""


def find_candidates(graph: ImportGraph) -> Candidates:
    """Finds them without running anything."""
    found = {path for path, source in graph.sources.items() if _may_declare(source)}
    while more := {
        path
        for path, source in graph.sources.items()
        if path not in found and _decorates_with(source, graph, found)
    }:
        found |= more
    packages = {path for path in found if graph.sources[path].is_package}
    modules = found - packages
    in_app = graph.closure(path for path in modules if not _lies_aside(path))
    return Candidates(sorted(modules & in_app), sorted(packages), sorted(modules - in_app))


def _lies_aside(path: str) -> bool:
    """It is in a directory whose name usually means that it is not shipped."""
    return not ASIDE.isdisjoint(path.split("/")[:-1])


def sdk_names(source: Source) -> dict[str, str]:
    """Names of the SDK and its members in a file: local name → dotted path within the SDK."""
    names: dict[str, str] = {}
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == SDK:
                    names[alias.asname or SDK] = alias.name if alias.asname else SDK
        elif (
            isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == SDK
        ):
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    return names


def is_endpoint_call(node: ast.AST, names: Mapping[str, str]) -> bool:
    """It constructs an Endpoint under any of the names of the file."""
    return isinstance(node, ast.Call) and (dotted(node.func, names) or "").rpartition(".")[2] == "Endpoint"


def dotted(expression: ast.expr, names: Mapping[str, str]) -> str | None:
    """The path of an expression such as `er.GpuGroup.ANY` within the SDK; None where it is not of the SDK."""
    if isinstance(expression, ast.Name):
        return names.get(expression.id)
    if isinstance(expression, ast.Attribute):
        base = dotted(expression.value, names)
        return f"{base}.{expression.attr}" if base else None
    return None


@cached_per_source
def _may_declare(source: Source) -> bool:
    if not any(found.module.split(".")[0] == SDK for found in imports_of(source).found):
        return False
    names = sdk_names(source)
    if "*" in names:
        return True
    calls = [node for node in live_nodes(source.tree) if is_endpoint_call(node, names)]
    clients = {id(call.func) for call in calls if isinstance(call, ast.Call) and _is_client_by_id(call)}
    return any(
        isinstance(node, (ast.Name, ast.Attribute))
        and (dotted(node, names) or "").rpartition(".")[2] == "Endpoint"
        and id(node) not in clients
        for node in live_nodes(source.tree)
    ) or _is_reexport(source, names)


def _is_client_by_id(call: ast.Call) -> bool:
    return any(keyword.arg == "id" for keyword in call.keywords)


def _is_reexport(source: Source, names: Mapping[str, str]) -> bool:
    """Endpoint is imported but not used, so other files may import it from here."""
    return any(path.rpartition(".")[2] == "Endpoint" for path in names.values()) and not any(
        is_endpoint_call(node, names) for node in ast.walk(source.tree)
    )


def _decorates_with(source: Source, graph: ImportGraph, candidates: set[str]) -> bool:
    roots = {
        root
        for definition in definitions(source)
        for decorator in definition.decorator_list
        if (root := _root(decorator)) is not None
    }
    if not roots:
        return False
    return any(
        not candidates.isdisjoint(graph.project.files_for(found))
        for node in live_nodes(source.tree)
        if isinstance(node, (ast.Import, ast.ImportFrom))
        if not roots.isdisjoint(alias.asname or alias.name.split(".")[0] for alias in node.names)
        for found in graph.imports[source.path].of(node)
    )


def _root(expression: ast.expr) -> str | None:
    while not isinstance(expression, ast.Name):
        if isinstance(expression, ast.Call):
            expression = expression.func
        elif isinstance(expression, ast.Attribute):
            expression = expression.value
        else:
            return None
    return expression.id
