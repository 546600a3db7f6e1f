"""From the input of a job to the arguments of a function."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..signatures import signature_of
from .failures import InputError

_PLACED = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


class Arguments:
    """What a function takes, by name."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._name = name
        try:
            self._parameters = list(signature_of(function).parameters.values())
        except (TypeError, ValueError):  # some functions written in C have no signature
            self._parameters = [inspect.Parameter("arguments", inspect.Parameter.VAR_KEYWORD)]
        self._names = {one.name for one in self._parameters if _takes_value(one)}
        self._takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in self._parameters)

    def takes(self, name: str) -> bool:
        return name in self._names

    def by_name(self, positional: Sequence[Any], named: Mapping[str, Any]) -> dict[str, Any]:
        """All values by name. Raises InputError where there are too many, or one is given twice."""
        names = [one.name for one in self._parameters if one.kind in _PLACED]
        if len(positional) > len(names):
            raise InputError(
                f"{self._name}() was given {len(positional)} values without a name. {self._usage()}"
            )
        values = dict(zip(names, positional))
        twice = [name for name in values if name in named]
        if twice:
            raise InputError(f"{self._name}() was given {_listed(twice)} twice. {self._usage()}")
        return {**values, **named}

    def bind(self, values: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Positional and named arguments. Raises InputError that names the argument at fault."""
        missing = [one.name for one in self._parameters if _is_required(one) and one.name not in values]
        if missing:
            raise InputError(f"{self._name}() lacks {_listed(missing)} in the input. {self._usage()}")
        unknown = [] if self._takes_any else [name for name in values if name not in self._names]
        if unknown:
            raise InputError(f"{self._name}() does not take {_listed(unknown)}. {self._usage()}")
        positional = [one for one in self._parameters if one.kind is inspect.Parameter.POSITIONAL_ONLY]
        leading = {one.name for one in positional}
        placed = [values.get(one.name, one.default) for one in positional]
        return placed, {name: value for name, value in values.items() if name not in leading}

    def _usage(self) -> str:
        shown = [_shown(one) for one in self._parameters if _takes_value(one)]
        return f"Its arguments: {', '.join(shown)}." if shown else "It has no arguments."


def _takes_value(parameter: inspect.Parameter) -> bool:
    return parameter.kind in _NAMED or parameter.kind is inspect.Parameter.POSITIONAL_ONLY


def _is_required(parameter: inspect.Parameter) -> bool:
    return _takes_value(parameter) and parameter.default is inspect.Parameter.empty


def _shown(parameter: inspect.Parameter) -> str:
    is_required = parameter.default is inspect.Parameter.empty
    return parameter.name if is_required else f"{parameter.name}={parameter.default!r}"


def _listed(names: list[str]) -> str:
    word = "the argument" if len(names) == 1 else "the arguments"
    return f"{word} {', '.join(repr(name) for name in names)}"
