"""Which endpoints refer to, and may call, functions of others."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .closure import ImportGraph
from .imports import imports_of
from .sources import Source, by_module, definitions, live_nodes, cached_per_source


@dataclass(frozen=True)
class Declared:
    """A function or class of an endpoint, or the variable of an endpoint that has its own image."""

    endpoint: str
    module: str
    name: str
    is_queued: bool
    """Its body runs only in workers of its own endpoint."""


@dataclass(frozen=True)
class Reference:
    """A use of a declared function."""

    endpoint: str
    """The endpoint of the function."""
    within: str | None
    """The only endpoint whose workers execute the reference; None for all that import the file."""


def calls_between(
    graph: ImportGraph, declared: Iterable[Declared], files: Mapping[str, Iterable[str]]
) -> dict[str, list[str]]:
    """For each endpoint, the sorted names of the others whose functions its files refer to."""
    search = _Search(graph, list(declared))
    needed = {path for paths in files.values() for path in paths if path in graph.sources}
    references = {path: set(search.references_in(graph.sources[path])) for path in needed}
    return {
        endpoint: sorted(
            {
                reference.endpoint
                for path in paths
                for reference in references.get(path, ())
                if reference.endpoint != endpoint and reference.within in (None, endpoint)
            }
        )
        for endpoint, paths in files.items()
    }


@dataclass(frozen=True)
class _NameIndex:
    """Identifiers that refer to a declared function anywhere in a file: identifier → endpoints."""

    names: dict[str, set[str]]
    """Functions of the file itself, and of modules of which it imports everything."""
    attributes: dict[str, set[str]]
    """Functions of modules that it imports as a whole."""


class _Search:
    def __init__(self, graph: ImportGraph, declared: list[Declared]) -> None:
        self.declared = declared
        self.by_place = {(one.module, one.name): one for one in declared}
        self.aliases = dict(_reexports(graph))
        known = ((place, self.resolve(*place)) for place in self.aliases)
        self.places = [*self.by_place.items(), *((place, one) for place, one in known if one is not None)]

    def references_in(self, source: Source) -> Iterator[Reference]:
        owners = {
            one.name: one.endpoint for one in self.declared if one.module == source.module and one.is_queued
        }
        names = self.name_index(source)
        for mention in _mentions_in(source):
            for endpoint in self.meant(mention, names):
                yield Reference(endpoint, owners.get(mention.within or ""))

    def name_index(self, source: Source) -> _NameIndex:
        imports = imports_of(source).found
        within = {source.module, *(found.module for found in imports if "*" in found.names)}
        whole = {found.module for found in imports if not found.names}
        whole |= {f"{found.module}.{name}" for found in imports for name in found.names}
        names = _NameIndex({}, {})
        for (module, name), one in self.places:
            if module in within:
                names.names.setdefault(name, set()).add(one.endpoint)
            if module in whole:
                names.attributes.setdefault(name, set()).add(one.endpoint)
        return names

    def meant(self, mention: _Mention, names: _NameIndex) -> Iterable[str]:
        if mention.module is not None:
            found = self.resolve(mention.module, mention.word)
            return () if found is None else (found.endpoint,)
        return (names.names if mention.is_name else names.attributes).get(mention.word, ())

    def resolve(self, module: str, name: str) -> Declared | None:
        seen: set[tuple[str, str]] = set()
        place = (module, name)
        while place not in self.by_place and place in self.aliases and place not in seen:
            seen.add(place)
            place = self.aliases[place]
        return self.by_place.get(place)


def _reexports(graph: ImportGraph) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Names that packages re-export from their modules."""
    modules = by_module(graph.sources)
    for source in graph.sources.values():
        if not source.is_package:
            continue
        for node in ast.walk(source.tree):
            if not isinstance(node, ast.ImportFrom):
                continue
            for found in graph.imports[source.path].of(node):
                for alias in node.names:
                    names = _all_names(modules.get(found.module)) if alias.name == "*" else [alias.name]
                    for name in names:
                        yield (source.module, alias.asname or name), (found.module, name)


def _all_names(source: Source | None) -> list[str]:
    return [definition.name for definition in definitions(source)] if source else []


@dataclass(frozen=True)
class _Mention:
    """An identifier in a file that may refer to a declared function."""

    word: str
    module: str | None
    """The module that a name is imported from."""
    is_name: bool
    """It is a name, not an attribute or a string."""
    within: str | None
    """The definition that contains it."""


@cached_per_source
def _mentions_in(source: Source) -> frozenset[_Mention]:
    """All mentions without duplicates; their meaning depends on the declarations of other files."""
    within = {
        id(node): definition.name
        for definition in definitions(source)
        for statement in definition.body
        for node in ast.walk(statement)
    }
    return frozenset(
        _Mention(word, module, is_name, within.get(id(node)))
        for node in live_nodes(source.tree)
        for word, module, is_name in _mentions_of(source, node)
    )


def _mentions_of(source: Source, node: ast.AST) -> list[tuple[str, str | None, bool]]:
    if isinstance(node, ast.ImportFrom):
        if source.is_package:
            return []  # A re-export; uses are resolved through the alias.
        return [(name, one.module, False) for one in imports_of(source).of(node) for name in one.names]
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        return [(node.id, None, True)]
    if isinstance(node, ast.Attribute):
        return [(node.attr, None, False)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [(node.value, None, False)]  # getattr(module, "name")
    return []
