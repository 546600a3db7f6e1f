"""Models that workers find on their host."""

from __future__ import annotations

import re
from collections.abc import Sequence

MODELS_MAX = 16
REFERENCE_MAX_CHARACTERS = 256

_PART = r"[A-Za-z0-9_][A-Za-z0-9._-]*"
_REFERENCE = re.compile(rf"({_PART})/({_PART})(?:@({_PART}(?:/{_PART})*))?")
_NAME_MAX_CHARACTERS = 96
_SECRET_NAME = re.compile(r"[A-Za-z0-9_.-]{1,191}")


def read_models(value: object) -> tuple[str, ...]:
    """Checks the `models` parameter; the order of models does not matter.

    Raises:
        ValueError: It is no list of references to models, or names too many.
    """
    if value is None:
        return ()
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise ValueError(f'models={value!r} must be a list, such as ["Qwen/Qwen3-8B@main"].')
    for reference in value:
        if not _is_reference(reference):
            raise ValueError(
                f'models={value!r} holds {reference!r}: a model is "org/name" or "org/name@revision", '
                f"of at most {REFERENCE_MAX_CHARACTERS} characters."
            )
    models = tuple(sorted(set(value)))
    if len(models) > MODELS_MAX:
        raise ValueError(f"models={value!r} names {len(models)} models: at most {MODELS_MAX} are allowed.")
    return models


def read_model_token_secret(value: object) -> str | None:
    """Checks the `model_token_secret` parameter.

    Raises:
        ValueError: It can be no name of a secret.
    """
    if value is None:
        return None
    # The value itself may be a token that was meant to be a secret.
    if not isinstance(value, str) or not _SECRET_NAME.fullmatch(value):
        raise ValueError('model_token_secret must be the name of a secret of the account, such as "HF_TOKEN".')
    return value


def _is_reference(reference: object) -> bool:
    if not isinstance(reference, str) or len(reference) > REFERENCE_MAX_CHARACTERS or ".." in reference:
        return False
    match = _REFERENCE.fullmatch(reference)
    return match is not None and all(_is_name(name) for name in match.group(1, 2))


def _is_name(name: str) -> bool:
    return len(name) <= _NAME_MAX_CHARACTERS and "--" not in name and name[-1] not in ".-"
