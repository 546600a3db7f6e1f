"""The version of the package, which is that of the `flash` command in it."""

__version__ = "0.3.0"
