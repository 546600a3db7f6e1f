"""Whole numbers as parameters."""

from __future__ import annotations


def read_whole_number(parameter: str, value: object, least: int, most: int | None = None) -> int:
    """Checks a parameter that is a whole number of `least` to `most`.

    Raises:
        ValueError: It is something else; the message names the parameter, the value and the range.
    """
    expected = f"from {least} to {most}" if most is not None else f"of at least {least}"
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"{parameter}={value!r} must be a whole number {expected}.")
    if value < least or (most is not None and value > most):
        raise ValueError(f"{parameter}={value!r} is out of range: it must be a whole number {expected}.")
    return value
