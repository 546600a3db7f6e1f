"""Handlers that a version of the code has given to loggers, which outlive it: lines would be written once per version."""

from __future__ import annotations

import logging
import sys


class LogHandlers:
    """Those that loggers have at this moment."""

    def __init__(self) -> None:
        self._before = {logger: list(logger.handlers) for logger in _loggers()}

    def remove_later(self) -> None:
        """Takes away what came since, but from loggers of modules that stay imported: they add theirs once."""
        for logger in _loggers():
            if logger.name.split(".")[0] in sys.modules:
                continue
            before = self._before.get(logger, [])
            for handler in [one for one in logger.handlers if one not in before]:
                logger.removeHandler(handler)


def _loggers() -> list[logging.Logger]:
    known = list(logging.Logger.manager.loggerDict.values())
    return [logging.getLogger(), *(one for one in known if isinstance(one, logging.Logger))]
