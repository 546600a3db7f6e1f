"""The `.env` file of a project, found upward from the working directory."""

from __future__ import annotations

import os
import re
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
    """A variable of the environment, or else of the `.env` file; None when neither has it, or it is empty."""
    return os.environ.get(name) or read_dotenv().get(name) or None


def read_dotenv() -> dict[str, str]:
    """The variables of the first `.env` file upward from the working directory; none where there is no file."""
    for folder in folders_upward(Path.cwd()):
        file = folder / FILE
        if file.is_file():
            return parse_dotenv(file.read_text(encoding="utf-8", errors="replace"))
    return {}


def parse_dotenv(text: str) -> dict[str, str]:
    """Reads NAME=value lines; values may be quoted, and double quotes may hold `\\n` for a new line."""
    return {match["name"]: _value(match) for match in _LINE.finditer(text.replace("\r\n", "\n"))}


def folders_upward(folder: Path) -> Iterator[Path]:
    """`folder` and all folders above it."""
    yield folder
    yield from folder.parents


def _value(match: re.Match[str]) -> str:
    if match["double"] is not None:
        return match["double"].replace("\\n", "\n")
    for quoted in ("single", "back"):
        if match[quoted] is not None:
            return match[quoted]
    return match["plain"].strip()
