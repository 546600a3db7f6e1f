"""Finds the endpoints that an app declares: `python -m edgerun.discovery`, with JSON as request and response."""
