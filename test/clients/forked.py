"""Runs Python programs, each in a process of its own that begins with the package runpod imported: that takes a second.

    python test/clients/forked.py SOCKET

Who connects sends one line, a JSON array with the path of a program and its arguments, and reads what it prints.
"""

import asyncio
import json
import os
import runpy
import socketserver
import sys

import runpod  # noqa: F401

# One of the package's own examples sets an event loop policy that only Windows has.
asyncio.WindowsSelectorEventLoopPolicy = asyncio.DefaultEventLoopPolicy


class Program(socketserver.StreamRequestHandler):
    """A forked process, whose output is the connection."""

    def handle(self):
        sys.argv = json.loads(self.rfile.readline())
        for output in (sys.stdout, sys.stderr):
            os.dup2(self.connection.fileno(), output.fileno())
        try:
            runpy.run_path(sys.argv[0], run_name="__main__")
        finally:
            sys.stdout.flush()


class Programs(socketserver.ForkingMixIn, socketserver.UnixStreamServer):
    """One process for each connection."""


with Programs(sys.argv[1], Program) as server:
    print("listening", flush=True)
    server.serve_forever()
