"""Which local files a file needs when it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .imports import Import, Imports, Project
from .notes import Notes, Place
from .sources import Source


@dataclass(frozen=True)
class ImportGraph:
    """The files of a project and what each of them imports."""

    project: Project
    sources: Mapping[str, Source]
    imports: Mapping[str, Imports]

    def needed_by(self, path: str) -> list[str]:
        """Local files that importing one file leads to directly, including its packages."""
        files = [init for init in _packages_above(path) if init in self.project.files]
        imports = self.imports.get(path)
        for found in imports.found if imports else ():
            files += self.project.files_for(found)
        return files

    def closure(self, paths: Iterable[str]) -> set[str]:
        """The given files, and all files of the project that they lead to."""
        closed: set[str] = set()
        open_paths = [path for path in paths if path in self.project.files]
        while open_paths:
            path = open_paths.pop()
            if path not in closed:
                closed.add(path)
                open_paths += [file for file in self.needed_by(path) if file in self.project.files]
        return closed


def _packages_above(path: str) -> list[str]:
    parts = path.split("/")[:-1]
    return [f"{'/'.join(parts[:count])}/__init__.py" for count in range(1, len(parts) + 1)]


def check_imports(graph: ImportGraph, candidates: Iterable[str], notes: Notes) -> None:
    """Reports imports that would fail where the app is deployed."""
    declaring = set(candidates)
    shipped = graph.closure(declaring)
    for path in sorted(graph.imports):
        _check_relative(graph, path, path in declaring, notes)
        if path in shipped:
            _check_shipped(graph, path, notes)


def _check_relative(graph: ImportGraph, path: str, is_candidate: bool, notes: Notes) -> None:
    report = notes.fail if is_candidate else notes.warn
    imports = graph.imports[path]
    for line, text in imports.unresolvable:
        report(
            Place(path, line), f"`{text}` leaves the project: the module lies in no package that far down."
        )
    for found in imports.found:
        missing = _missing_of(graph.project, found) if found.is_relative and not found.is_optional else None
        if missing is not None:
            report(Place(path, found.line), f"the relative import leads to {missing}, which is not there.")


def _missing_of(project: Project, found: Import) -> str | None:
    if not project.has(found.module):
        return found.module
    file = project.file_of(found.module)
    if file is not None:
        return None  # Any name may be a variable of it.
    return next(
        (f"{found.module}.{n}" for n in found.names if n != "*" and not project.has(f"{found.module}.{n}")),
        None,
    )


def _check_shipped(graph: ImportGraph, path: str, notes: Notes) -> None:
    for line in graph.imports[path].dynamic:
        notes.warn(
            Place(path, line),
            "a module is imported by a name that only the running program knows; "
            "where it is one of the project's own, import it by a literal name somewhere, so that it is shipped.",
        )
    for found in graph.imports[path].found:
        _check_dropped(graph, path, found, notes)
        _check_beside(graph, path, found, notes)


def _check_dropped(graph: ImportGraph, path: str, found: Import, notes: Notes) -> None:
    report = notes.warn if found.is_optional else notes.fail
    for file in graph.project.files_for(found):
        if file not in graph.project.files:
            report(
                Place(path, found.line),
                f"{path} imports {file}, which is left out by the ignore rules and would be missing "
                "where the app is deployed. Take it out of .gitignore, rename it if it is named like a test, "
                "or do not import it.",
            )


def _check_beside(graph: ImportGraph, path: str, found: Import, notes: Notes) -> None:
    """Scripts can import modules beside them; modules of a project cannot."""
    directory = path.rpartition("/")[0].replace("/", ".")
    top = found.module.split(".")[0]
    if found.is_relative or not directory or graph.project.has(top):
        return
    if graph.project.file_of(f"{directory}.{top}") is not None:
        notes.warn(
            Place(path, found.line),
            f"`{top}` is looked for at the top of the project, not beside {path}: "
            f"import {directory}.{top} instead.",
        )
