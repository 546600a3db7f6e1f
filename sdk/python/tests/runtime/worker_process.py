"""Workers as they really are: processes that run `python -m edgerun.runtime` on the files of an app."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

SOURCES = Path(__file__).resolve().parents[2] / "src"
WAIT_S = 30.0


class App:
    """Files of a deployed app, as a build leaves them."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.manifest: dict[str, Any] = {"version": "1.0", "project_name": "app", "resources": {}, "routes": {}}

    def write(self, path: str, text: str) -> Path:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
        return file

    def queue(self, name: str, function: str, module: str = "main", **resource: Any) -> None:
        """A queue-based endpoint of a function in a module."""
        self.manifest["resources"][name] = {
            "is_load_balanced": False,
            "functions": [{"name": function, "module": module}],
            "handler_file": f"handler_{name}.py",
            **resource,
        }
        self.write(
            f"handler_{name}.py",
            f'from edgerun.runtime import queue_handler\n\nhandler = queue_handler("{name}")\n',
        )

    def balanced(self, name: str, routes: dict[str, str], module: str = "main", **resource: Any) -> None:
        """A load-balanced endpoint; routes are "<METHOD> <path>" to function."""
        functions = []
        for key, function in routes.items():
            method, _, path = key.partition(" ")
            functions.append({"name": function, "module": module, "http_method": method, "http_path": path})
        self.manifest["resources"][name] = {"is_load_balanced": True, "functions": functions, **resource}
        self.manifest["routes"][name] = routes

    def save(self) -> None:
        self.write("flash_manifest.json", json.dumps(self.manifest))


class Worker:
    """One process; what it prints goes to a file."""

    def __init__(self, app: App, environment: dict[str, str]) -> None:
        app.save()
        self._log = app.directory.parent / "worker.log"
        inherited = {name: os.environ[name] for name in ("PATH", "HOME", "LANG") if name in os.environ}
        with self._log.open("w") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "edgerun.runtime"],
                env={
                    **inherited,
                    "PYTHONPATH": f"{app.directory}{os.pathsep}{SOURCES}",
                    "FLASH_APP_DIRECTORY": str(app.directory),
                    **environment,
                },
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=app.directory.parent,
            )

    @property
    def output(self) -> str:
        return self._log.read_text(encoding="utf-8")

    @property
    def messages(self) -> str:
        """What it prints, lines of JSON as their message."""
        return "\n".join(_message(line) for line in self.output.splitlines())

    def terminate(self) -> None:
        self.process.send_signal(signal.SIGTERM)

    def wait(self) -> int:
        """The exit code."""
        return self.process.wait(WAIT_S)

    def close(self) -> None:
        self.process.kill()
        self.process.wait(WAIT_S)


def _message(line: str) -> str:
    try:
        return str(json.loads(line)["message"])
    except (ValueError, KeyError, TypeError):
        return line
