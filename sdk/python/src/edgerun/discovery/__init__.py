"""Finds what an app declares: `python -m edgerun.discovery`, asked and answered in JSON."""
