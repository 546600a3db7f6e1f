"""Workers as forks of a process that has imported what they import: four fifths of a start is that.

A nursery is asked on standard input and answers on standard output, one line of JSON each.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import runpy
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

# What a worker of jobs imports, which does without asyncio, and what all others do.
JOBS = ("agent", "loading", "queue_worker")
ANY = (*JOBS, "server.worker", "live.worker")
POLL_S = 0.002


class ForkedWorker:
    """One worker: the part of subprocess.Popen that tests use."""

    def __init__(self, environment: dict[str, str], directory: Path, log: Path) -> None:
        is_of_jobs = environment.get("FLASH_ENDPOINT_TYPE") == "qb" and "FLASH_LIVE" not in environment
        self._nursery = _JOBS if is_of_jobs else _ANY
        log.write_bytes(b"")
        question = {"environment": environment, "directory": str(directory), "log": str(log)}
        self.pid: int = self._nursery.ask(question)
        self.exit_code: int | None = None

    def poll(self) -> int | None:
        """The exit code, or that of the signal below zero; nothing while it runs."""
        if self.exit_code is None:
            self.exit_code = self._nursery.ask({"ended": self.pid})
        return self.exit_code

    def wait(self, limit_s: float) -> int:
        deadline = time.monotonic() + limit_s
        while (code := self.poll()) is None:
            if time.monotonic() > deadline:
                raise TimeoutError(f"The worker {self.pid} does not end.")
            time.sleep(POLL_S)
        return code

    def send_signal(self, number: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, number)


class Nursery:
    """Starts with the first question, and ends with the tests."""

    def __init__(self, imported: tuple[str, ...]) -> None:
        self._imported = imported
        self._process: subprocess.Popen[str] | None = None
        self._lock = threading.Lock()

    def ask(self, question: dict[str, Any]) -> Any:
        with self._lock:
            self._process = self._process or self._start()
            assert self._process.stdin and self._process.stdout
            self._process.stdin.write(json.dumps(question) + "\n")
            self._process.stdin.flush()
            return json.loads(self._process.stdout.readline())

    def _start(self) -> subprocess.Popen[str]:
        pipe = subprocess.PIPE
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        sources = {"PYTHONPATH": str(Path(__file__).resolve().parents[2] / "src")}
        command = [sys.executable, __file__, *self._imported]
        process = subprocess.Popen(command, env=inherited | sources, stdin=pipe, stdout=pipe, text=True)
        atexit.register(process.communicate)
        return process


_JOBS, _ANY = Nursery(JOBS), Nursery(ANY)


# In the process that is forked


def main() -> None:
    for name in sys.argv[1:]:
        importlib.import_module(f"edgerun.runtime.{name}")
    beside, sources, *standard = sys.path
    assert Path(beside) == Path(__file__).parent, beside
    while line := sys.stdin.readline():
        question = json.loads(line)
        if "ended" in question:
            answer = _exit_code_of(question["ended"])
        elif (answer := os.fork()) == 0:
            return _live(question, standard)
        print(json.dumps(answer), flush=True)


def _exit_code_of(pid: int) -> int | None:
    ended, status = os.waitpid(pid, os.WNOHANG)
    return os.waitstatus_to_exitcode(status) if ended else None


def _live(worker: dict[str, Any], standard: list[str]) -> None:
    """Becomes what `python -m edgerun.runtime` is with this environment in this directory."""
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(os.open(worker["log"], os.O_WRONLY), 1)
    os.dup2(1, 2)
    os.chdir(worker["directory"])
    os.environ.clear()
    os.environ.update(worker["environment"])
    sys.path[:] = [os.getcwd(), *os.environ["PYTHONPATH"].split(os.pathsep), *standard]
    sys.argv[1:] = []
    sys.modules.pop("__main__")
    runpy.run_module("edgerun.runtime", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
