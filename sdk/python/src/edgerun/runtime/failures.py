"""Errors of workers: shown to the owner of the endpoint, never to callers of its routes."""

from __future__ import annotations

import os
import traceback
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .application import Application

_SDK_DIRECTORY = str(Path(__file__).resolve().parent.parent) + os.sep


class StartError(Exception):
    """The worker cannot start; the message explains why and how to solve it."""


class JobFailure(Exception):
    """A job fails with a complete `error`, as clients receive it."""

    def __init__(self, error: str) -> None:
        super().__init__(error)
        self.error = error


class Stopped(Exception):
    """The job was stopped, and its function has ended."""


class InputError(ValueError):
    """A job's input does not fit the function; the message names the argument."""


def traceback_text(error: BaseException, application: Application) -> str:
    """The traceback of an error, from the first frame on that is the user's."""
    frames = error.__traceback__
    while frames is not None and not _is_of_user(frames, application.directory):
        frames = frames.tb_next
    if frames is None:
        frames = _beyond_sdk(error.__traceback__)
    return application.shown("".join(traceback.format_exception(type(error), error, frames)))


def summary(error: BaseException) -> str:
    """Type and message of an error in one line."""
    message = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def place_of(error: BaseException, application: Application) -> str | None:
    """`file:line` in the app where an error was raised; None for errors from elsewhere."""
    if isinstance(error, SyntaxError) and error.filename is not None:
        return f"{_relative(error.filename, application)}:{error.lineno}"
    place = None
    frames = error.__traceback__
    while frames is not None:
        if _is_of_user(frames, application.directory):
            place = f"{_relative(frames.tb_frame.f_code.co_filename, application)}:{frames.tb_lineno}"
        frames = frames.tb_next
    return place


def _is_of_user(frames: TracebackType, app_directory: Path) -> bool:
    file = os.path.realpath(frames.tb_frame.f_code.co_filename)
    return file.startswith(str(app_directory) + os.sep) and not file.startswith(_SDK_DIRECTORY)


def _beyond_sdk(frames: TracebackType | None) -> TracebackType | None:
    """Returns the frames from the first one that belongs neither to this package nor to importlib."""
    while frames is not None and _is_machinery(frames.tb_frame.f_code.co_filename):
        frames = frames.tb_next
    return frames


def _is_machinery(file: str) -> bool:
    return os.path.realpath(file).startswith(_SDK_DIRECTORY) or "importlib" in file


def _relative(file: str, application: Application) -> str:
    path = application.shown(os.path.realpath(file))
    return path.removeprefix(f"{application.directory}{os.sep}")
