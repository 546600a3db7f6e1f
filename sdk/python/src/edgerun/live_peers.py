"""In a live worker: what its calls to other endpoints carry along, since those workers have no code yet."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class LivePeers:
    """The code of other endpoints by name, and known sources by SHA-256."""

    codes: Mapping[str, Mapping[str, Any]]
    texts: Callable[[Iterable[str]], Mapping[str, bytes]]


_of_call: ContextVar[LivePeers | None] = ContextVar("edgerun_live_peers", default=None)
_latest: LivePeers | None = None
_token = ""


def use(peers: LivePeers) -> None:
    """Uses these for calls in this context, and in threads without a context."""
    global _latest
    _of_call.set(peers)
    _latest = peers


def hold_token(token: str) -> None:
    """Keeps the token by which live workers with routes take code; it is not in the environment."""
    global _token
    _token = token


def stored_token() -> str:
    """The stored token; empty if there is none."""
    return _token


def current() -> LivePeers | None:
    """The peers of the running call; None outside of live workers."""
    return _of_call.get() or _latest
