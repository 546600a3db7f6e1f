"""Import statements, and the local files that they lead to."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from .sources import Source, live_nodes, module_level, cached_per_source


@dataclass(frozen=True)
class Import:
    """One import, wherever in a file it stands."""

    module: str
    """Absolute dotted path."""
    names: tuple[str, ...]
    """What `from module import names` names; empty for an import of the module itself."""
    line: int
    column: int
    is_relative: bool
    is_optional: bool
    """It stands in a `try` that catches an ImportError."""


@dataclass(frozen=True)
class Imports:
    """What a file imports."""

    found: tuple[Import, ...]
    unresolvable: tuple[tuple[int, str], ...]
    """Line and text of relative imports that leave the project."""
    dynamic: tuple[int, ...]
    """Lines that import what only the running program knows."""

    def of(self, node: ast.stmt) -> list[Import]:
        """The imports of one statement."""
        place = (node.lineno, node.col_offset)
        return [found for found in self.found if (found.line, found.column) == place]


@cached_per_source
def packages_imported_by(source: Source) -> tuple[tuple[int, str], ...]:
    """Line and top-level name of the required packages that importing a file imports."""
    imports = imports_of(source)
    return tuple(
        (found.line, found.module.split(".")[0])
        for statement in module_level(source.tree.body)
        if isinstance(statement, (ast.Import, ast.ImportFrom))
        for found in imports.of(statement)
        if not found.is_relative and not found.is_optional
    )


@cached_per_source
def imports_of(source: Source) -> Imports:
    """Reads the imports of one file, those within functions included."""
    reader = _Reader(source)
    for node in live_nodes(source.tree):
        reader.read(node)
    return Imports(tuple(reader.found), tuple(reader.unresolvable), tuple(reader.dynamic))


class _Reader:
    def __init__(self, source: Source) -> None:
        self.source = source
        self.found: list[Import] = []
        self.unresolvable: list[tuple[int, str]] = []
        self.dynamic: list[int] = []
        self.optional = {id(node) for node in _optional_nodes(source.tree)}
        self.importers = _names_of_import_module(source.tree)

    def read(self, node: ast.AST) -> None:
        if isinstance(node, ast.Import):
            for alias in node.names:
                self.add(node, alias.name, (), False)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            self.add_from(node, node.module or "", names, node.level, self.source.package)
        elif isinstance(node, ast.Call) and self.imports_at_run_time(node.func):
            self.read_call(node)

    def add(self, node: ast.stmt | ast.expr, module: str, names: tuple[str, ...], is_relative: bool) -> None:
        self.found.append(
            Import(module, names, node.lineno, node.col_offset, is_relative, id(node) in self.optional)
        )

    def add_from(
        self, node: ast.stmt | ast.expr, module: str, names: tuple[str, ...], level: int, package: str
    ) -> None:
        if level == 0:
            self.add(node, module, names, False)
            return
        parents = package.split(".") if package else []
        if level > len(parents):
            shown = "." * level + module
            text = f"from {shown} import {', '.join(names)}" if names else f'import_module("{shown}")'
            if id(node) not in self.optional:
                self.unresolvable.append((node.lineno, text))
            return
        base = parents[: len(parents) - level + 1]
        self.add(node, ".".join([*base, module] if module else base), names, True)

    def imports_at_run_time(self, function: ast.expr) -> bool:
        if isinstance(function, ast.Attribute):
            return function.attr == "import_module" and _root_name(function) in self.importers
        return isinstance(function, ast.Name) and function.id in self.importers | {"__import__"}

    def read_call(self, call: ast.Call) -> None:
        named = {keyword.arg: keyword.value for keyword in call.keywords}
        target = call.args[0] if call.args else named.get("name")
        if not isinstance(target, ast.Constant) or not isinstance(target.value, str):
            self.dynamic.append(call.lineno)
            return
        module = target.value.lstrip(".")
        anchor = call.args[1] if len(call.args) > 1 else named.get("package")
        package = anchor.value if isinstance(anchor, ast.Constant) and isinstance(anchor.value, str) else None
        self.add_from(call, module, (), len(target.value) - len(module), package or self.source.package)


def _names_of_import_module(tree: ast.Module) -> set[str]:
    """Names of importlib and its import_module in a file."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {a.asname or "importlib" for a in node.names if a.name.split(".")[0] == "importlib"}
        elif isinstance(node, ast.ImportFrom) and node.module == "importlib":
            names |= {a.asname or a.name for a in node.names if a.name == "import_module"}
    return names


def _optional_nodes(tree: ast.Module) -> Iterator[ast.AST]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Try) and any(_catches_import_error(handler) for handler in node.handlers):
            for statement in node.body:
                yield from ast.walk(statement)


def _catches_import_error(handler: ast.ExceptHandler) -> bool:
    if handler.type is None:
        return True
    caught = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {"ImportError", "ModuleNotFoundError", "Exception", "BaseException"}
    return any(isinstance(name, ast.Name) and name.id in names for name in caught)


def _root_name(expression: ast.expr) -> str | None:
    while isinstance(expression, ast.Attribute):
        expression = expression.value
    return expression.id if isinstance(expression, ast.Name) else None


class Project:
    """The modules of the project."""

    def __init__(self, root: Path, files: Iterable[str]) -> None:
        self.root = root
        self.files = frozenset(files)
        self._found: dict[str, str | None] = {}

    @cached_property
    def directories(self) -> frozenset[str]:
        """All directories with files of the project."""
        return frozenset(
            "/".join(parts[:count])
            for parts in (path.split("/") for path in self.files)
            for count in range(1, len(parts))
        )

    def file_of(self, module: str) -> str | None:
        """The file of a module or package; None if it is not on disk."""
        if module not in self._found:
            path = module.replace(".", "/")
            self._found[module] = next(filter(self._is_file, (f"{path}/__init__.py", f"{path}.py")), None)
        return self._found[module]

    def _is_file(self, file: str) -> bool:
        return file in self.files or os.path.isfile(f"{self.root}/{file}")

    def has(self, module: str) -> bool:
        """A module or package of this name is part of the project, as a file, a directory or an extension."""
        path = module.replace(".", "/")
        if self.file_of(module) is not None or path in self.directories:
            return True
        directory, _, name = path.rpartition("/")
        return any((self.root / directory).glob(f"{glob_escape(name)}.*.so")) or (self.root / path).is_dir()

    def files_for(self, found: Import) -> list[str]:
        """Local files that an import needs, the packages above included; those dropped by ignores too."""
        modules = [found.module, *(f"{found.module}.{name}" for name in found.names if name != "*")]
        needed: list[str] = []
        for module in modules:
            parts = module.split(".")
            lineage = [".".join(parts[:count]) for count in range(1, len(parts) + 1)]
            if self.file_of(module) is None and module != found.module:
                continue
            needed += [file for file in map(self.file_of, lineage) if file is not None and file not in needed]
        return needed


def glob_escape(name: str) -> str:
    """A name as a pattern that matches itself alone."""
    return "".join(f"[{character}]" if character in "*?[" else character for character in name)
