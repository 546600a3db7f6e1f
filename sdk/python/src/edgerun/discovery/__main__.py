"""`python -m edgerun.discovery [--report PATH]`: a request on standard input, the report on descriptor 3."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .app import discover

REPORT_DESCRIPTOR = 3


def main(arguments: list[str] | None = None) -> None:
    """Reads the request, discovers, and writes the report as JSON."""
    parser = argparse.ArgumentParser(prog="python -m edgerun.discovery")
    parser.add_argument(
        "--report", type=Path, help="file for the report, where descriptor 3 cannot be inherited"
    )
    options = parser.parse_args(arguments)
    request = json.load(sys.stdin)
    report = json.dumps(discover(Path(request["root"]), request["files"], request["timeoutSeconds"]))
    if options.report is not None:
        options.report.write_text(report, "utf-8")
        return
    with open(REPORT_DESCRIPTOR, "w", encoding="utf-8") as channel:
        channel.write(report)


if __name__ == "__main__":
    main()
