"""SIGTERM is for the worker: processes that its functions fork end by it as any process does."""

from __future__ import annotations

import os
import signal
import threading

ENDING = (signal.SIGTERM, signal.SIGINT)

_before = threading.local()


def spare_children() -> None:
    """
    Forked processes get the usual handlers. Signals are blocked meanwhile: one that arrived in between would be handled
    by the child as if it were the worker, whose sockets and pipes it shares.
    """
    os.register_at_fork(before=_hold_back, after_in_parent=_let_through, after_in_child=_end_as_usual)


def _hold_back() -> None:
    _before.mask = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)


def _let_through() -> None:
    signal.pthread_sigmask(signal.SIG_SETMASK, _before.mask)


def _end_as_usual() -> None:
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    _let_through()
