"""The `.env` file of a project, found upward from the working directory within the project."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path

FILE = ".env"

_LINE = re.compile(
    r"""
    ^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][\w.-]*)[ \t]*=[ \t]*
    (?: "(?P<double>[^"]*)" | '(?P<single>[^']*)' | `(?P<back>[^`]*)` | (?P<plain>[^\n#]*) )
    """,
    re.VERBOSE | re.MULTILINE,
)


def setting(name: str) -> str | None:
    """A variable of the environment, else of the `.env` file; None when it is empty or in neither."""
    return os.environ.get(name) or read_dotenv().get(name) or None


def read_dotenv() -> dict[str, str]:
    """The variables of the first `.env` file upward from the working directory; empty without one."""
    for folder in folders_upward(Path.cwd()):
        text = read_own_file(folder / FILE)
        if text is not None:
            return parse_dotenv(text)
    return {}


def read_own_file(file: Path) -> str | None:
    """The content of a file; None where it does not exist, or where another user than this one and root owns it.

    A user who can write to a directory above could otherwise choose where keys and calls are sent.
    """
    if not file.is_file():
        return None
    try:
        with file.open(encoding="utf-8", errors="replace") as opened:
            # Of the open file, so that it cannot be replaced in between.
            if _is_trusted_owner(os.fstat(opened.fileno()).st_uid):
                return opened.read()
    except OSError:
        return None
    warnings.warn(f"{file} is ignored: another user owns it. Take ownership (chown) to use it.", stacklevel=2)
    return None


def _is_trusted_owner(uid: int) -> bool:
    if sys.platform == "win32":
        return True
    own = os.getuid()
    return uid in (own, 0) or (own == 0 and os.environ.get("SUDO_UID") == str(uid))


def parse_dotenv(text: str) -> dict[str, str]:
    """Reads NAME=value lines; values may be quoted, and double quotes may hold `\\n` for a new line."""
    return {match["name"]: _value(match) for match in _LINE.finditer(text.replace("\r\n", "\n"))}


def folders_upward(folder: Path) -> Iterator[Path]:
    """`folder` and those above it, to the root of its Git repository or the home directory."""
    home = Path(os.path.expanduser("~"))
    for above in (folder, *folder.parents):
        yield above
        if above == home or (above / ".git").exists():
            return


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return match["double"].replace("\\n", "\n")
    for quoted in ("single", "back"):
        if match[quoted] is not None:
            return match[quoted]
    return match["plain"].strip()
