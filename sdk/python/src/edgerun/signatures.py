"""What functions take."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

if sys.version_info >= (3, 14):
    import annotationlib

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """Its signature; annotations with names that exist for type checkers only stay as they are written.

        Raises:
            TypeError: It cannot be called.
            ValueError: Python cannot determine its signature.
        """
        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)

else:

    def signature_of(function: Callable[..., Any]) -> inspect.Signature:
        """Its signature.

        Raises:
            TypeError: It cannot be called.
            ValueError: Python cannot determine its signature.
        """
        return inspect.signature(function)
