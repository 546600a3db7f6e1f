"""Groups of candidates that may depend on each other and are imported together."""

from __future__ import annotations

import ast

from .closure import ImportGraph
from .importing import Group


def groups_of(graph: ImportGraph, candidates: list[str]) -> dict[Group, frozenset[str]]:
    """Candidates that share files, directly or through others, with all files that they lead to."""
    groups: list[tuple[list[str], set[str]]] = []
    for candidate in candidates:
        files = graph.closure([candidate])
        shared = {file for file in files if not _is_empty(graph, file)}
        joined = [group for group in groups if not shared.isdisjoint(group[1])]
        groups = [group for group in groups if group not in joined]
        merged: tuple[list[str], set[str]] = ([candidate], files)
        for members, theirs in joined:
            merged = ([*members, *merged[0]], theirs | merged[1])
        groups.append(merged)
    return dict(sorted((tuple(sorted(members)), frozenset(files)) for members, files in groups))


def _is_empty(graph: ImportGraph, file: str) -> bool:
    """It has no state that modules could share, like most `__init__.py` files."""
    source = graph.sources.get(file)
    return source is not None and all(
        isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
        for statement in source.tree.body
    )
