"""What a module declares while it is imported: every Endpoint, in order, with where it stands."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .endpoint import Endpoint


@dataclass(frozen=True)
class Declaration:
    """An Endpoint, and the file and line (from 1) where it was constructed."""

    endpoint: Endpoint
    file: str
    line: int


_recorded: ContextVar[list[Declaration] | None] = ContextVar("edgerun_recorded", default=None)


@contextmanager
def recording() -> Iterator[list[Declaration]]:
    """Collects every Endpoint that is constructed within it, in order.

    ```python
    with recording() as declared:
        importlib.import_module("gpu_worker")
    names = [declaration.endpoint.name for declaration in declared]
    ```
    """
    declared: list[Declaration] = []
    token = _recorded.set(declared)
    try:
        yield declared
    finally:
        _recorded.reset(token)


def record(endpoint: Endpoint, frames_up: int) -> None:
    """Records `endpoint` during a recording; `frames_up` leads from the caller to the code that constructed it."""
    declared = _recorded.get()
    if declared is None:
        return
    frame = sys._getframe(frames_up + 1)
    declared.append(Declaration(endpoint, frame.f_code.co_filename, frame.f_lineno))
