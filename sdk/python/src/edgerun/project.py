"""Where the program that runs stands."""

from __future__ import annotations

import sys
from pathlib import Path


def script_folder() -> Path | None:
    """The directory of the script; None in a shell or notebook."""
    file = getattr(sys.modules.get("__main__"), "__file__", None)
    return Path(file).resolve().parent if file else None
