"""The whole of discovery: from the files of a project to the report."""

from __future__ import annotations

import os
import platform
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..version import __version__
from .candidates import ASIDE, Candidates, find_candidates
from .closure import ImportGraph, check_imports
from .forking import launch_for_this_system
from .grouping import group
from .importing import import_candidates
from .imports import Project, imports_of, packages_imported_by
from .names import check_handler_files, check_names
from .notes import Notes, Place
from .sources import Parsed, read_sources

PROTOCOL = 1

NO_ENDPOINTS = """\
no endpoints were found. A function becomes one by a decorator:

    from edgerun import Endpoint, GpuGroup

    @Endpoint(name="gpu_worker", gpu=GpuGroup.ANY)
    def hello(name: str):
        return {"message": f"Hello, {name}"}

or several functions are the routes of one:

    api = Endpoint(name="api", cpu="cpu3c-1-2")

    @api.post("/hello")
    def hello(name: str):
        return {"message": f"Hello, {name}"}
"""


@dataclass(frozen=True)
class Outline:
    """What the files of a project say without being executed."""

    root: Path
    files: list[str]
    graph: ImportGraph
    candidates: Candidates
    needed: set[str]
    """Files that candidates lead to, including themselves."""
    notes: Notes

    def report(
        self, declarations: list[dict[str, Any]], notes: Notes, *, is_whole: bool = True
    ) -> dict[str, Any]:
        """The report, made of the declarations of all or some candidates; `notes` are those of the outline and of imports."""
        endpoints = group(self.graph, declarations, notes)
        check_handler_files(self.files, endpoints, notes)
        if is_whole:
            _warn_of_skipped_files(self.candidates, declarations, notes)
        if is_whole and not endpoints and not notes.errors:
            notes.fail(None, NO_ENDPOINTS)
        return {
            "protocol": PROTOCOL,
            "python": {
                "version": platform.python_version(),
                "executable": sys.executable,
                "platform": sysconfig.get_platform(),
            },
            "sdkVersion": __version__,
            "endpoints": endpoints,
            "localFiles": sorted(self.needed),
            "imports": self._imports(),
            **notes.take(),
        }

    def _imports(self) -> list[dict[str, Any]]:
        """Packages that importing the files requires."""
        return [
            {"file": path, "line": line, "module": top}
            for path in sorted(self.needed & self.graph.sources.keys())
            for line, top in packages_imported_by(self.graph.sources[path])
            if top not in sys.stdlib_module_names and not self.graph.project.has(top)
        ]


def outline(root: Path, files: list[str], known: dict[str, Parsed] | None = None) -> Outline:
    """Parses all files; `known` has those of an earlier reading, and is updated."""
    notes = Notes()
    sources = read_sources(root, files, notes, known)
    imports = {path: imports_of(source) for path, source in sources.items()}
    graph = ImportGraph(Project(root, files), sources, imports)
    candidates = find_candidates(graph)
    needed = graph.closure(candidates.files)
    check_names(files, candidates.files, needed, notes)
    check_imports(graph, candidates.files, notes)
    return Outline(root, files, graph, candidates, needed, notes)


def discover(root: Path, files: list[str], timeout_seconds: float) -> dict[str, Any]:
    """The report on a project; its shape is that of `discoveryReportSchema`."""
    read = outline(Path(os.path.abspath(root)), files)
    declarations = import_candidates(
        read.root, files, read.candidates.files, timeout_seconds, launch_for_this_system(), read.notes
    )
    return read.report(declarations, read.notes)


def _warn_of_skipped_files(
    candidates: Candidates, declarations: list[dict[str, Any]], notes: Notes
) -> None:
    declaring = {declaration["file"] for declaration in declarations}
    for path in candidates.packages:
        if path not in declaring and not declaring:
            notes.warn(
                Place(path, 1), "endpoints in an __init__.py are ignored: move them to a module."
            )
    for path in candidates.aside:
        if not declaring:
            notes.warn(
                Place(path, 1),
                f"it is ignored, since directories called {', '.join(sorted(ASIDE))} belong to an app "
                "only where its code imports them.",
            )
