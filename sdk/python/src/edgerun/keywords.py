"""Keyword arguments that nothing takes, with the one that was most likely meant."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any


class NamesKeywords:
    """Base of classes whose constructors are called with keywords by hand.

    Raises:
        TypeError: A keyword that the constructor does not take; the message names the nearest one.
    """

    if not TYPE_CHECKING:  # Type checkers shall see the constructor alone.

        def __new__(cls, *_: Any, **given: Any) -> Any:
            code = cls.__init__.__code__
            known = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount]
            for name in given:
                if name not in known:
                    raise TypeError(f"{cls.__name__}() has no parameter {name!r}.{_suggestion(name, known)}")
            return super().__new__(cls)


def _suggestion(name: str, known: tuple[str, ...]) -> str:
    from difflib import get_close_matches

    nearest = get_close_matches(name, known, 1)
    return f" Did you mean {nearest[0]!r}?" if nearest else ""
