"""The project's Python files, parsed but not executed."""

from __future__ import annotations

import ast
import hashlib
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TypeVar
from weakref import WeakKeyDictionary

from .notes import Note, Notes, Place

_SDK_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+edgerun\b", re.MULTILINE)


@dataclass(frozen=True, eq=False)
class Source:
    """One parsed file. The object is the same while the content is."""

    path: str
    """Relative to the project, with forward slashes."""
    module: str
    """Dotted path of the module; for an `__init__.py` that of its package."""
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """It is an `__init__.py`."""
        return self.path.rpartition("/")[2] == "__init__.py"

    @property
    def package(self) -> str:
        """Base of relative imports; empty at the top of the project."""
        return self.module if self.is_package else self.module.rpartition(".")[0]


Found = TypeVar("Found")


def cached_per_source(compute: Callable[[Source], Found]) -> Callable[[Source], Found]:
    """Caches the result of a function for each file while the file is unchanged."""
    known: WeakKeyDictionary[Source, Found] = WeakKeyDictionary()

    @wraps(compute)
    def cached(source: Source) -> Found:
        if source not in known:
            known[source] = compute(source)
        return known[source]

    return cached


def module_of(path: str) -> str:
    """The dotted path of a file."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@dataclass(frozen=True)
class Parsed:
    """The result of parsing one file."""

    sha256: str
    """The hash of its bytes; empty when it could not be read."""
    source: Source | None
    error: Note | None
    """Why the source could not be read."""
    declares: bool
    """It seems to import the SDK although it cannot be parsed."""


def parse(root: Path, path: str, known: Parsed | None = None) -> Parsed:
    """Reads one file, and parses it unless its bytes are unchanged."""
    content = b""
    digest = ""
    try:
        content = (root / path).read_bytes()
        digest = hashlib.sha256(content).hexdigest()
        if known is not None and known.sha256 == digest:
            return known
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Parsed(digest, Source(path, module_of(path), ast.parse(content, path)), None, False)
    except SyntaxError as error:
        place, reason = Place(path, error.lineno or 1), _shown(error)
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        place, reason = Place(path, 1), str(error) or type(error).__name__
    return Parsed(digest, None, Note(place, reason), _SDK_IMPORT.search(content) is not None)


def read_sources(
    root: Path, paths: Iterable[str], notes: Notes, known: dict[str, Parsed] | None = None
) -> dict[str, Source]:
    """Parses all files; one that cannot be parsed is an error where it may declare endpoints, else a warning.

    `known` has the results of an earlier reading, and is updated.
    """
    found = {path: parse(root, path, (known or {}).get(path)) for path in paths}
    if known is not None:
        known.clear()
        known.update(found)
    for parsed in found.values():
        if parsed.error is not None:
            _note_unreadable(parsed.error, parsed.declares, notes)
    return {path: parsed.source for path, parsed in found.items() if parsed.source is not None}


def _shown(error: SyntaxError) -> str:
    """The message, followed by the line with a caret, where Python has them."""
    line = (error.text or "").rstrip()
    text = line.lstrip()
    if not text or error.offset is None or not text.isprintable():
        return error.msg
    caret = max(0, error.offset - 1 - (len(line) - len(text)))
    return f"{error.msg}\n    {text}\n    {' ' * caret}^"


def _note_unreadable(error: Note, declares: bool, notes: Notes) -> None:
    if declares:
        notes.fail(error.place, f"Python cannot read this file: {error.message}")
    else:
        notes.warn(
            error.place,
            f"Python cannot read this file, so nothing is known of what it imports: {error.message}",
        )


# Walking


def live_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """All nodes that a worker may execute: not those under `if __name__ == "__main__"` or `if TYPE_CHECKING`."""
    open_nodes = [root]
    while open_nodes:
        node = open_nodes.pop()
        yield node
        never_runs = isinstance(node, ast.If) and _never_runs(node.test)
        children = node.orelse if isinstance(node, ast.If) and never_runs else ast.iter_child_nodes(node)
        open_nodes += reversed(list(children))


def module_level(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that importing a module runs, those within if, try, match, with and loops included."""
    for statement in statements:
        if isinstance(statement, ast.If) and _never_runs(statement.test):
            yield from module_level(statement.orelse)
            continue
        yield statement
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        for field in ("body", "orelse", "finalbody"):
            yield from module_level(getattr(statement, field, []))
        for inner in [*getattr(statement, "handlers", []), *getattr(statement, "cases", [])]:
            yield from module_level(inner.body)


def _never_runs(test: ast.expr) -> bool:
    if isinstance(test, ast.Compare):
        names = {side.id for side in (test.left, *test.comparators) if isinstance(side, ast.Name)}
        values = {side.value for side in (test.left, *test.comparators) if isinstance(side, ast.Constant)}
        return "__name__" in names and "__main__" in values
    name = test.attr if isinstance(test, ast.Attribute) else test.id if isinstance(test, ast.Name) else None
    return name == "TYPE_CHECKING"


Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@cached_per_source
def definitions(source: Source) -> list[Definition]:
    """Functions and classes at module level."""
    return [
        statement
        for statement in module_level(source.tree.body)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]


def first_line(definition: Definition) -> int:
    """Its first line, which is that of its first decorator."""
    return min([definition.lineno, *(decorator.lineno for decorator in definition.decorator_list)])


def by_module(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Files by dotted path."""
    return {source.module: source for source in sources.values()}
