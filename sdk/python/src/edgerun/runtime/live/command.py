"""Commands that install something: bounded in time, quiet unless they fail."""

from __future__ import annotations

import os
import signal
import subprocess
import tempfile
from collections.abc import Mapping, Sequence

from .credentials import without_credentials

LIMIT_S = 300.0
_SHOWN_LINES = 20
_SHOWN_BYTES = 8_000


class InstallFailed(Exception):
    """Something cannot be installed; the message explains why."""


class InstallCommand:
    """A command with its processes; `environment` is added to that of the worker."""

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], limit_s: float = LIMIT_S
    ) -> None:
        self._command = list(command)
        self._environment = {**os.environ, **environment}
        self._limit_s = limit_s

    def run(self) -> None:
        """Raises InstallFailed with the end of what it printed."""
        with tempfile.TemporaryFile() as printed:
            try:
                process = subprocess.Popen(
                    self._command,
                    env=self._environment,
                    stdin=subprocess.DEVNULL,
                    stdout=printed,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
            except OSError as error:
                raise InstallFailed(f"{self._command[0]} cannot be started: {error.strerror}.") from None
            code = self._wait(process)
            if code == 0:
                return
            size = printed.tell()
            printed.seek(max(0, size - _SHOWN_BYTES))
            said = printed.read().decode("utf-8", "replace").strip().splitlines()[-_SHOWN_LINES:]
        how = f"took longer than {self._limit_s:g} s" if code is None else f"ended with exit code {code}"
        text = "\n".join([f"The installation {how}: {self._shown()}", *said])
        raise InstallFailed(without_credentials(text))

    def _wait(self, process: subprocess.Popen[bytes]) -> int | None:
        """The exit code; None when it exceeded the limit and was killed with its children."""
        try:
            return process.wait(self._limit_s)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return None

    def _shown(self) -> str:
        return " ".join(os.path.basename(word) if os.sep in word else word for word in self._command)
