"""``python -m edgerun.requirements``: reads one question, writes one answer."""

import json
import sys

from edgerun.requirements.library import load_packaging, pip_arguments


def main() -> None:
    """Answer the question on standard input; exit status 3 means that ``packaging`` cannot be found."""
    question = json.load(sys.stdin)
    if question["operation"] == "pip":
        json.dump({"args": pip_arguments()}, sys.stdout)
        return
    packaging = load_packaging()
    if packaging is None:
        sys.exit(3)
    if question["operation"] == "read":
        from edgerun.requirements.reading import read_requirements

        answer = read_requirements(packaging, question["texts"], question["python"])
    else:
        from edgerun.requirements.survey import survey

        answer = survey(
            packaging, question["directory"], question["roots"], question["excluded"], question["python"]
        )
    json.dump(answer, sys.stdout)


if __name__ == "__main__":
    main()
