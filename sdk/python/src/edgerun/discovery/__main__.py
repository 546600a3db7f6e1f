"""`python -m edgerun.discovery [--live] [--stays] [--report PATH]`: requests on standard input, responses on descriptor 3.

With `--live` the report also has what live workers need; with `--stays` requests are lines, until standard input
ends.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from .app import discover
from .resident import read_once, serve

REPORT_DESCRIPTOR = 3


def main(arguments: list[str] | None = None) -> None:
    """Reads the request, discovers, and writes the report as JSON."""
    parser = argparse.ArgumentParser(prog="python -m edgerun.discovery")
    parser.add_argument(
        "--report", type=Path, help="file for the report, where descriptor 3 cannot be inherited"
    )
    parser.add_argument("--live", action="store_true", help="add what live endpoints need")
    parser.add_argument(
        "--stays", action="store_true", help="serve requests, one per line, until standard input ends"
    )
    options = parser.parse_args(arguments)
    if options.stays:
        serve(sys.stdin.fileno(), REPORT_DESCRIPTOR)
        return
    request = json.load(sys.stdin)
    report = json.dumps(_answer(request, is_live=options.live))
    if options.report is not None:
        options.report.write_text(report, "utf-8")
        return
    with open(REPORT_DESCRIPTOR, "w", encoding="utf-8") as channel:
        channel.write(report)


def _answer(request: dict[str, Any], *, is_live: bool) -> dict[str, Any]:
    if is_live:
        return read_once(request)
    return discover(Path(request["root"]), request["files"], request["timeoutSeconds"])


if __name__ == "__main__":
    main()
