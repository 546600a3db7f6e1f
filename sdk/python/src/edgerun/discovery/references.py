"""Which endpoints refer to functions of others, and so call them."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from .closure import ImportGraph
from .sources import Definition, Source, by_module, definitions, live_nodes


@dataclass(frozen=True)
class Declared:
    """A function or class of an endpoint, or the variable of an endpoint that has its own image."""

    endpoint: str
    module: str
    name: str
    is_queued: bool
    """Its body runs in workers of its own endpoint alone."""


@dataclass(frozen=True)
class Reference:
    """A use of a declared function."""

    endpoint: str
    """Whose function it is."""
    within: str | None
    """The endpoint in whose workers alone it is carried out; None: wherever the file is imported."""


def calls_between(
    graph: ImportGraph, declared: Iterable[Declared], files: Mapping[str, Iterable[str]]
) -> dict[str, list[str]]:
    """For each endpoint the others to whose functions its files refer, in any way; sorted."""
    search = _Search(graph, list(declared))
    references = {path: set(search.references_in(source)) for path, source in graph.sources.items()}
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
class _Words:
    """What means a declared function wherever it stands in a file: word → endpoints."""

    names: dict[str, set[str]]
    """Functions of the file itself, and of modules of which it imports everything."""
    attributes: dict[str, set[str]]
    """Functions of modules that it knows as a whole, under whatever name."""


class _Search:
    def __init__(self, graph: ImportGraph, declared: list[Declared]) -> None:
        self.graph = graph
        self.declared = declared
        self.by_place = {(one.module, one.name): one for one in declared}
        self.aliases = dict(_reexports(graph))

    def references_in(self, source: Source) -> Iterator[Reference]:
        owners = _owned_nodes(source, [one for one in self.declared if one.module == source.module])
        words = self.words_of(source)
        for node in live_nodes(source.tree):
            for endpoint in self.referred(source, node, words):
                yield Reference(endpoint, owners.get(id(node)))

    def words_of(self, source: Source) -> _Words:
        imports = self.graph.imports[source.path].found
        within = {source.module, *(found.module for found in imports if "*" in found.names)}
        whole = {found.module for found in imports if not found.names}
        whole |= {f"{found.module}.{name}" for found in imports for name in found.names}
        words = _Words({}, {})
        for (module, name), one in [*self.by_place.items(), *self.known_aliases()]:
            if module in within:
                words.names.setdefault(name, set()).add(one.endpoint)
            if module in whole:
                words.attributes.setdefault(name, set()).add(one.endpoint)
        return words

    def known_aliases(self) -> Iterator[tuple[tuple[str, str], Declared]]:
        for place in self.aliases:
            found = self.resolve(*place)
            if found is not None:
                yield place, found

    def referred(self, source: Source, node: ast.AST, words: _Words) -> Iterable[str]:
        if isinstance(node, ast.ImportFrom):
            return self.imported(source, node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            return words.names.get(node.id, ())
        if isinstance(node, ast.Attribute):
            return words.attributes.get(node.attr, ())
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return words.attributes.get(node.value, ())  # getattr(module, "name")
        return ()

    def imported(self, source: Source, node: ast.ImportFrom) -> Iterable[str]:
        if source.is_package:
            return ()  # It gives the name on; who uses it is found by the alias.
        found = (
            self.resolve(one.module, name)
            for one in self.graph.imports[source.path].of(node)
            for name in one.names
        )
        return [one.endpoint for one in found if one is not None]

    def resolve(self, module: str, name: str) -> Declared | None:
        seen: set[tuple[str, str]] = set()
        place = (module, name)
        while place not in self.by_place and place in self.aliases and place not in seen:
            seen.add(place)
            place = self.aliases[place]
        return self.by_place.get(place)


def _reexports(graph: ImportGraph) -> Iterator[tuple[tuple[str, str], tuple[str, str]]]:
    """Names that a package takes over from its modules."""
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


def _owned_nodes(source: Source, declared: Iterable[Declared]) -> dict[int, str]:
    """What stands in the bodies of queued functions, by the endpoint that runs them."""
    owners = {one.name: one.endpoint for one in declared if one.is_queued}
    owned: dict[int, str] = {}
    for definition in definitions(source):
        if definition.name in owners:
            owned |= {id(node): owners[definition.name] for node in _inner_nodes(definition)}
    return owned


def _inner_nodes(definition: Definition) -> Iterator[ast.AST]:
    for statement in definition.body:
        yield from ast.walk(statement)
