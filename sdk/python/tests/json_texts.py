"""Random JSON texts as anybody may write them, which is more than any serializer does."""

from __future__ import annotations

import random

NUMBERS = ("-0", "0.0", "-0.0e-0", "7.0", "1.10", "1E5", "1e-400", "18446744073709551615", "-1" + "0" * 40)
STRINGS = (
    *('""', '"\\u0041\\/"', '"\\ud800"', '"x\\uDFFFy"', '"\\ud83d\\uDE00"', '"é😀\u2028"', '"\\u0000\\b"'),
    *('"\x7f\\\\"', '"__proto__"'),
)


def random_text(chance: random.Random, depth: int = 0) -> str:
    """A value; deep, wide, with repeated keys and space between its parts."""
    kind = chance.random()
    if depth > 6 or kind < 0.3:
        return chance.choice((*NUMBERS, *STRINGS, "true", "false", "null", repr(chance.uniform(-1e9, 1e9))))
    if kind < 0.35:
        levels = chance.randrange(1, 400)
        return "[" * levels + chance.choice(NUMBERS) + "]" * levels
    space = chance.choice(("", "", " ", "\n\t"))
    inner = [random_text(chance, depth + 1) for _ in range(chance.randrange(5))]
    if kind < 0.65:
        return f"[{space}{f'{space},'.join(inner)}]"
    members = [f"{chance.choice(STRINGS)}{space}:{text}" for text in inner]
    return f"{{{space}{f',{space}'.join(members)}{space}}}"
