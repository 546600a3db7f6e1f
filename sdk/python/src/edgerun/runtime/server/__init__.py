"""The HTTP server of load-balanced endpoints."""
