"""Imports the project's modules, each once, and falls back to what literals say of one that cannot be imported."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
import types
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..declarations import Declaration
from .notes import Notes, Place
from .reduction import reduced
from .sources import module_of, read_sources

_SDK_DIRECTORY = str(Path(__file__).parent.parent) + os.sep


@dataclass(frozen=True)
class Trial:
    """What an import tries: the project, and what is already known about its files."""

    root: Path
    files: frozenset[str]
    candidates: frozenset[str]
    given_up: Mapping[str, str]
    """Candidates whose import did not finish in an earlier trial, with the message that the trial reported for each."""
    declared: list[Declaration]
    notes: Notes
    announce: Callable[[str], None]
    """Called with each candidate before its code runs, and with an empty text afterwards."""

    def relative(self, file: str) -> str | None:
        """The path of a file of the project; None for any other."""
        try:
            path = Path(file).relative_to(self.root).as_posix()
        except ValueError:
            return None
        return path if path in self.files else None

    def place_of(self, error: BaseException) -> Place | None:
        """The innermost line of the project that an error came through."""
        if isinstance(error, SyntaxError) and error.filename and self.relative(error.filename):
            return Place(self.relative(error.filename) or "", error.lineno or 1)
        found = None
        trace = error.__traceback__
        while trace is not None:
            path = self.relative(trace.tb_frame.f_code.co_filename)
            if path is not None:
                found = Place(path, trace.tb_lineno)
            trace = trace.tb_next
        return found


class ProjectFinder(importlib.abc.MetaPathFinder):
    """Comes first: finds the project's own files, whatever else of their names is installed."""

    def __init__(self, trial: Trial) -> None:
        self._trial = trial

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Finds `name` as a file of the project, else leaves it to the others."""
        base = name.replace(".", "/")
        for file, directory in ((f"{base}/__init__.py", base), (f"{base}.py", None)):
            if file in self._trial.files:
                where = str(self._trial.root / file)
                return importlib.util.spec_from_file_location(
                    name,
                    where,
                    loader=_ProjectLoader(name, where, file, self._trial),
                    submodule_search_locations=[str(self._trial.root / directory)] if directory else None,
                )
        return None


class _ProjectLoader(importlib.machinery.SourceFileLoader):
    def __init__(self, name: str, where: str, file: str, trial: Trial) -> None:
        super().__init__(name, where)
        self._file = file
        self._trial = trial

    def exec_module(self, module: types.ModuleType) -> None:
        if self._file not in self._trial.candidates:
            super().exec_module(module)
            return
        reason = self._trial.given_up.get(self._file)
        if reason is not None:
            self._fall_back(module, Place(self._file, 1), reason, None)
            return
        before = len(self._trial.declared)
        self._trial.announce(self._file)
        try:
            super().exec_module(module)
        except (Exception, SystemExit) as error:
            place = self._trial.place_of(error)
            if _is_of_sdk(error):
                self._trial.notes.fail(place, str(error))
                raise
            self._forget(before)
            self._fall_back(module, place, _message_of(error), error)
        finally:
            self._trial.announce("")

    def _forget(self, before: int) -> None:
        declared = self._trial.declared
        declared[before:] = [one for one in declared[before:] if self._trial.relative(one.file) != self._file]

    def _fall_back(
        self, module: types.ModuleType, place: Place | None, reason: str, error: BaseException | None
    ) -> None:
        tree = reduced(read_sources(self._trial.root, [self._file], Notes())[self._file])
        if tree is None:
            self._trial.notes.fail(place, f"importing {self._file} failed: {reason}")
            raise error or ImportError(reason)
        for name in [name for name in vars(module) if not name.startswith("__")]:
            delattr(module, name)
        try:
            exec(compile(tree, str(self._trial.root / self._file), "exec"), vars(module))  # noqa: S102 - code of the user declarations
        except Exception as declaring:
            self._trial.notes.fail(self._trial.place_of(declaring), _message_of(declaring))
            raise
        self._trial.notes.warn(
            place,
            f"importing {self._file} failed here, so its declarations were read without running it: {reason}",
        )


def import_candidate(trial: Trial, file: str) -> None:
    """Imports one candidate under its dotted path; what goes wrong is noted."""
    name = module_of(file)
    if "." in file.removesuffix(".py"):
        trial.notes.fail(
            Place(file, 1), "names of modules and their directories must not have dots in them; rename it."
        )
        return
    top = name.split(".")[0]
    if top in sys.stdlib_module_names:
        trial.notes.fail(
            Place(file, 1),
            f"`{top}` is a module of Python itself, so `{name}` could not be imported where the app is deployed; "
            "rename it.",
        )
        return
    failed = len(trial.notes.errors)
    try:
        module = importlib.import_module(name)
    except (Exception, SystemExit) as error:  # noqa: BLE001 - whatever the app's code raises
        if len(trial.notes.errors) == failed and not _is_noted(error, trial):
            trial.notes.fail(
                trial.place_of(error) or Place(file, 1), f"importing {file} failed: {_message_of(error)}"
            )
        return
    found = getattr(module, "__file__", None)
    if found is None or trial.relative(found) != file:
        trial.notes.fail(
            Place(file, 1), f"`import {name}` leads to {found or 'another module'}, not to {file}; rename it."
        )


def _is_noted(error: BaseException, trial: Trial) -> bool:
    place = trial.place_of(error)
    return any(note.place == place and str(error) in note.message for note in trial.notes.errors)


def _is_of_sdk(error: BaseException) -> bool:
    """Whether the SDK rejected a declaration, so that the declaration is the only fault in the file."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    is_raised_there = trace is not None and trace.tb_frame.f_code.co_filename.startswith(_SDK_DIRECTORY)
    return is_raised_there and isinstance(error, (ValueError, TypeError))


def _message_of(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return 'the module ends the program (SystemExit); put that under `if __name__ == "__main__":`'
    return f"{type(error).__name__}: {error}"
