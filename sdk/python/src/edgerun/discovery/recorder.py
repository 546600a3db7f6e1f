"""The process that imports candidates: reads a request file and writes a file of results.

Imported code may hang, crash or end it; its parent then reads the files that it left.
"""

from __future__ import annotations

import faulthandler
import importlib
import json
import os
import sys
import warnings
from pathlib import Path
from typing import Any, TextIO

from ..declarations import recording
from .declared import describe
from .modules import ProjectFinder, Trial, import_candidate
from .notes import Notes, Place
from .opened import OpenedFiles
from .standin import StandInFinder

ORDER = "order.json"
"""The request: root, files, groups of candidates, given_up and timeout_seconds."""
ANSWERS = "answers"
"""One line of JSON for each imported group: group, declarations, warnings, errors and opened."""
UNDER_WAY = "under-way"
"""Running candidates, one per line; an empty line where one has ended."""
STACK = "stack"
"""The stack at the timeout."""


def main(directory: Path) -> None:
    """Imports all candidates and writes their declarations to `directory`."""
    order: dict[str, Any] = json.loads((directory / ORDER).read_text("utf-8"))
    with (
        open(directory / ANSWERS, "w", encoding="utf-8") as answers,
        open(directory / UNDER_WAY, "w", encoding="utf-8") as under_way,
        open(directory / STACK, "w") as stack,
    ):

        def announce(file: str) -> None:
            print(file, file=under_way, flush=True)

        with recording() as declared:
            trial = Trial(
                root=Path(order["root"]),
                files=frozenset(order["files"]),
                candidates=frozenset(file for group in order["groups"] for file in group),
                given_up=order["given_up"],
                declared=declared,
                notes=Notes(),
                announce=announce,
            )
            opened = _prepare(trial)
            for group in order["groups"]:
                for file in group:
                    faulthandler.dump_traceback_later(order["timeout_seconds"], exit=True, file=stack)
                    import_candidate(trial, file)
                    faulthandler.cancel_dump_traceback_later()
                answer = {"group": group, "declarations": describe(trial), "opened": opened.take()}
                print(json.dumps({**answer, **trial.notes.take()}), file=answers, flush=True)
                declared.clear()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)  # Threads that the app's modules started would keep the process alive.


def _prepare(trial: Trial) -> OpenedFiles:
    importlib.invalidate_caches()
    sys.dont_write_bytecode = True
    sys.argv = [""]
    sys.path.insert(0, str(trial.root))
    sys.meta_path.insert(0, ProjectFinder(trial))
    tops = {file.removesuffix(".py").split("/")[0] for file in trial.files}
    sys.meta_path.append(
        StandInFinder(lambda file: trial.relative(file) is not None, lambda top: top in tops)
    )
    _note_warnings(trial)
    opened = OpenedFiles(trial.root, trial.files)
    sys.addaudithook(opened.hear)
    return opened


def _note_warnings(trial: Trial) -> None:
    shown = warnings.showwarning

    def show(
        message: Warning | str,
        category: type[Warning],
        filename: str,
        lineno: int,
        file: TextIO | None = None,
        line: str | None = None,
    ) -> None:
        path = trial.relative(filename)
        if path is not None and issubclass(category, UserWarning):
            trial.notes.warn(Place(path, lineno), str(message))
        else:
            shown(message, category, filename, lineno, file, line)

    warnings.showwarning = show


if __name__ == "__main__":
    main(Path(sys.argv[1]))
