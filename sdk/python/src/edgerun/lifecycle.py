"""Operations that belong to the `flash` command: called directly, they say which command to use."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import ParamSpec, TypeVar

from .errors import FlashUsageError

P = ParamSpec("P")
R = TypeVar("R")

_allowed: ContextVar[bool] = ContextVar("edgerun_lifecycle_allowed", default=False)


@contextmanager
def lifecycle_allowed() -> Iterator[None]:
    """Lets lifecycle operations be called directly within it; for the command itself, and for tests."""
    token = _allowed.set(True)
    try:
        yield
    finally:
        _allowed.reset(token)


def managed_by(command: str) -> Callable[[Callable[P, Awaitable[R]]], Callable[P, Awaitable[R]]]:
    """Marks a method as managed by `command`, such as "flash deploy".

    The method raises FlashUsageError when it is called, before anything is awaited, unless `lifecycle_allowed`.
    """

    def guard(method: Callable[P, Awaitable[R]]) -> Callable[P, Awaitable[R]]:
        @wraps(method)
        def guarded(*args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
            if not _allowed.get():
                raise FlashUsageError(
                    f"{method.__qualname__}() is managed by the flash command line. "
                    f"Run `{command}` instead. "
                    "A direct call would bypass the build, the manifest and the tracking of what is deployed."
                )
            return method(*args, **kwargs)

        return guarded

    return guard
