"""Inert stand-ins for third-party modules that are not installed where discovery runs."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import os
import sys
import types
from collections.abc import Callable, Iterator, Sequence
from typing import Any

_IMPORTLIB = os.path.dirname(importlib.__file__) + os.sep


class StandInBase:
    """Base of classes that derive from a stand-in."""

    def __init__(self, *arguments: object, **named: object) -> None:
        """Accepts any arguments."""

    def __init_subclass__(cls, **named: object) -> None:
        """Accepts keyword arguments of a class statement."""

    def __getattr__(self, name: str) -> Any:
        return _attribute(type(self).__name__, name)


class StandIn:
    """A member of a missing module: it supports any operation and does nothing."""

    def __init__(self, name: str) -> None:
        self.__dict__["__name__"] = name
        self.__dict__["__qualname__"] = name

    def __getattr__(self, name: str) -> Any:
        return _attribute(self.__dict__["__name__"], name)

    def __setattr__(self, name: str, value: object) -> None:
        self.__dict__[name] = value

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Returns its argument as a decorator or wrapper does; creates a class as a metaclass does."""
        if (
            len(arguments) == 1
            and not named
            and callable(arguments[0])
            and not isinstance(arguments[0], StandIn)
        ):
            return arguments[0]
        if len(arguments) == 3 and isinstance(arguments[1], tuple) and isinstance(arguments[2], dict):
            return type(*arguments)
        return StandIn(f"{self.__dict__['__name__']}()")

    def __mro_entries__(self, bases: tuple[object, ...]) -> tuple[type, ...]:
        first = next(base for base in bases if isinstance(base, StandIn))
        has_base = any(isinstance(base, type) and issubclass(base, StandInBase) for base in bases)
        return () if has_base or first is not self else (StandInBase,)

    def __instancecheck__(self, instance: object) -> bool:
        return False

    def __subclasscheck__(self, subclass: type) -> bool:
        return False

    def __repr__(self) -> str:
        return self.__dict__["__name__"]  # type: ignore[no-any-return]

    __str__ = __fspath__ = __repr__

    def __format__(self, specification: str) -> str:
        return repr(self)

    def __hash__(self) -> int:
        return id(self)

    def __iter__(self) -> Iterator[Any]:
        return iter(())

    async def __aiter__(self) -> Any:
        nothing: tuple[Any, ...] = ()
        for one in nothing:
            yield one

    def __await__(self) -> Iterator[Any]:
        return iter(())

    def __enter__(self) -> Any:
        return self

    async def __aenter__(self) -> Any:
        return self

    def __exit__(self, *error: object) -> None:
        """Does not suppress errors."""

    async def __aexit__(self, *error: object) -> None:
        """Does not suppress errors."""

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return True

    def __contains__(self, item: object) -> bool:
        return False

    def __setitem__(self, key: object, value: object) -> None:
        """Does nothing."""

    def __delitem__(self, key: object) -> None:
        """Does nothing."""

    def __index__(self) -> int:
        return 0

    __int__ = __index__

    def __float__(self) -> float:
        return 0.0


def _attribute(owner: str, name: str) -> Any:
    if name == "__version__":
        return "0.0.0"
    if name.startswith("__") and name.endswith("__"):
        raise AttributeError(name)
    return StandIn(f"{owner}.{name}")


def _same_again(self: StandIn, *_: object) -> StandIn:
    return self


def _always(self: StandIn, _other: object) -> bool:
    return True


_OPERATORS = [
    "add",
    "sub",
    "mul",
    "matmul",
    "truediv",
    "floordiv",
    "mod",
    "divmod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
]
for _name in [*_OPERATORS, *(f"r{name}" for name in _OPERATORS), "neg", "pos", "abs", "invert", "getitem"]:
    setattr(StandIn, f"__{_name}__", _same_again)
for _name in ("lt", "le", "gt", "ge"):
    setattr(StandIn, f"__{_name}__", _always)


class StandInModule(types.ModuleType):
    """A module with stand-ins as members."""

    def __getattr__(self, name: str) -> Any:
        return _attribute(self.__name__, name)

    __all__: Sequence[str] = ()


class StandInFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """The last finder: provides stand-ins for modules that files of the project import and no other finder has found."""

    def __init__(self, is_of_project: Callable[[str], bool], is_local: Callable[[str], bool]) -> None:
        self._is_of_project = is_of_project
        self._is_local = is_local

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        top = name.split(".")[0]
        if top in sys.stdlib_module_names or self._is_local(top) or not self._may_stand_below(name):
            return None
        if not self._is_of_project(_importing_file()):
            return None
        return importlib.machinery.ModuleSpec(name, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandInModule(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        """Has nothing to execute."""

    def _may_stand_below(self, name: str) -> bool:
        """False below an installed package, which has all of its modules, unless it is a namespace package."""
        parent = sys.modules.get(name.rpartition(".")[0])
        return (
            parent is None or isinstance(parent, StandInModule) or getattr(parent, "__file__", None) is None
        )


def _importing_file() -> str:
    """The file whose import statement is being executed."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        file = frame.f_code.co_filename
        if file != __file__ and not file.startswith("<frozen") and not file.startswith(_IMPORTLIB):
            return file
        frame = frame.f_back
    return ""
