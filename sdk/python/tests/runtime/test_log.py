"""Lines of the worker's log."""

from __future__ import annotations

import io

from edgerun.runtime import log


def test_a_line_is_written_with_its_break_so_that_other_threads_write_before_or_after_it(monkeypatch):
    written = []

    class Stream(io.StringIO):
        def write(self, text: str) -> int:
            written.append(text)
            return len(text)

    monkeypatch.setattr("sys.stderr", Stream())
    log.say("one\ntwo\n")
    assert written == ["one\ntwo\n"]
