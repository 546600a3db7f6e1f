"""Why a call was not run, or how it failed."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..application import Application
from ..failures import StartError, place_of, summary, traceback_text

MISSING_MODULES = "MissingModules"


class MissingModules(Exception):
    """Nothing was run: the worker lacks these sources. The caller repeats the request with them."""

    def __init__(self, sha256s: Sequence[str], message: str | None = None) -> None:
        count = len(sha256s)
        super().__init__(
            message or f"The worker lacks {count} {'file' if count == 1 else 'files'} of the code."
        )
        self.sha256s = list(sha256s)

    @property
    def as_json(self) -> str:
        return json.dumps(
            {
                "error_type": MISSING_MODULES,
                "error_message": str(self),
                "missing_modules": self.sha256s,
            }
        )


class NotLoaded(Exception):
    """The code cannot be loaded, or its dependencies cannot be installed; the message explains why and where."""

    def __init__(self, message: str, *, kind: str = "NotLoaded", traceback: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.traceback = traceback

    @property
    def as_json(self) -> str:
        described = {"error_type": self.kind, "error_message": str(self), "error_traceback": self.traceback}
        return json.dumps(described, ensure_ascii=False)


def not_loaded(error: StartError, application: Application) -> NotLoaded:
    """An error that would end other workers, for one that continues."""
    cause = error.__context__
    if cause is None:
        return NotLoaded(str(error))
    return NotLoaded(str(error), kind=type(cause).__qualname__, traceback=traceback_text(cause, application))


def described(error: BaseException, application: Application) -> str:
    """Type, message and place of an error in one line."""
    place = place_of(error, application)
    return f"{summary(error)} ({place})" if place else summary(error)
