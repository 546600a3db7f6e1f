"""Runs the recorder in a fork of a process that has loaded the SDK: milliseconds instead of a hundred."""

from __future__ import annotations

import os
import signal
import sys
import traceback
import types
from pathlib import Path
from typing import NoReturn

from . import recorder
from .importing import NOT_FOR_APPS, Launch, launch_interpreter


def launch_for_this_system() -> Launch:
    """Forks where that is safe: libraries of macOS may crash in a fork, and Windows has none."""
    return _launch_fork if hasattr(os, "fork") and sys.platform != "darwin" else launch_interpreter


class _Fork:
    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._code: int | None = None

    def poll(self) -> int | None:
        return self._ended(os.WNOHANG)

    def wait(self) -> int:
        code = self._ended(0)
        assert code is not None  # noqa: S101 - waitpid has returned.
        return code

    def kill(self) -> None:
        if self._ended(os.WNOHANG) is None:
            os.kill(self._pid, signal.SIGKILL)

    def _ended(self, options: int) -> int | None:
        if self._code is None:
            pid, status = os.waitpid(self._pid, options)
            if pid != 0:
                self._code = os.waitstatus_to_exitcode(status)
        return self._code


def _launch_fork(root: Path, directory: Path) -> _Fork:
    sys.stdout.flush()
    sys.stderr.flush()
    pid = os.fork()
    if pid == 0:
        _record(root, directory)
    return _Fork(pid)


def _record(root: Path, directory: Path) -> NoReturn:
    """The whole forked process; it must inherit nothing visible from its parent."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGTERM):
            signal.signal(number, signal.SIG_DFL)
        nowhere = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nowhere, 0)
        os.dup2(2, 1)
        os.closerange(3, nowhere)
        os.close(nowhere)
        sys.stdin, sys.stdout, sys.stderr = sys.__stdin__, sys.__stdout__, sys.__stderr__
        os.chdir(root)
        for name in NOT_FOR_APPS:
            os.environ.pop(name, None)
        sys.modules["__main__"] = types.ModuleType("__main__")
        recorder.main(directory)
    except BaseException:  # noqa: BLE001 - the stack of the parent must not unwind here.
        traceback.print_exc()
    finally:
        os._exit(1)
