"""The project's Python files, parsed and never executed."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .notes import Notes, Place

_SDK_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+edgerun\b", re.MULTILINE)


@dataclass(frozen=True)
class Source:
    """One file that could be parsed."""

    path: str
    """Relative to the project, with forward slashes."""
    module: str
    """Dotted path under which it is imported; of an `__init__.py` that of its package."""
    tree: ast.Module

    @property
    def is_package(self) -> bool:
        """It is an `__init__.py`."""
        return self.path.rpartition("/")[2] == "__init__.py"

    @property
    def package(self) -> str:
        """What relative imports begin at; empty at the top of the project."""
        return self.module if self.is_package else self.module.rpartition(".")[0]


def module_of(path: str) -> str:
    """The dotted path of a file."""
    parts = path.removesuffix(".py").split("/")
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def read_sources(root: Path, paths: Iterable[str], notes: Notes) -> dict[str, Source]:
    """Parses all files; one that cannot be parsed is an error where it declares something, else a warning."""
    sources: dict[str, Source] = {}
    for path in paths:
        content = b""
        try:
            content = (root / path).read_bytes()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                sources[path] = Source(path, module_of(path), ast.parse(content, path))
        except SyntaxError as error:
            _note_unreadable(path, error.lineno, error.msg, content, notes)
        except (OSError, ValueError, RecursionError, MemoryError) as error:
            _note_unreadable(path, None, str(error) or type(error).__name__, content, notes)
    return sources


def _note_unreadable(path: str, line: int | None, reason: str, content: bytes, notes: Notes) -> None:
    place = Place(path, line or 1)
    if _SDK_IMPORT.search(content):
        notes.fail(place, f"Python cannot read this file: {reason}")
    else:
        notes.warn(place, f"Python cannot read this file, so nothing is known of what it imports: {reason}")


# Walking


def live_nodes(root: ast.AST) -> Iterator[ast.AST]:
    """All nodes that a worker may come to: not those under `if __name__ == "__main__"` or `if TYPE_CHECKING`."""
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


def definitions(source: Source) -> list[Definition]:
    """Functions and classes that can be had by name from the imported module."""
    return [
        statement
        for statement in module_level(source.tree.body)
        if isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))
    ]


def first_line(definition: Definition) -> int:
    """Where it begins for Python: at its first decorator."""
    return min([definition.lineno, *(decorator.lineno for decorator in definition.decorator_list)])


def by_module(sources: Mapping[str, Source]) -> dict[str, Source]:
    """Files by dotted path."""
    return {source.module: source for source in sources.values()}
