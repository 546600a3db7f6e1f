"""Runs a command in a terminal and talks to it.

Reads JSON from standard input: {"command", "cwd", "env", "dialog": [{"see", "type"}]}. Each entry waits until its text
is on the screen after the last one, then types; "signal" sends a signal instead, "resize" gives the window that many rows
and columns, and "hangUp" closes the terminal as its window does. Writes JSON: {"screen", "exitCode"}.
"""

import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import sys
import termios

SILENCE_LIMIT_SECONDS = 100
ROWS, COLUMNS = 40, 120
ESCAPES = re.compile(rb"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]")


def main() -> None:
    asked = json.load(sys.stdin)
    pid, terminal = pty.fork()
    if pid == 0:
        resize(0, ROWS, COLUMNS)
        os.chdir(asked["cwd"])
        os.execvpe("bash", ["bash", "-c", "exec " + asked["command"]], asked["env"])
    screen = talk(pid, terminal, asked["dialog"])
    _, status = os.waitpid(pid, 0)
    code = os.waitstatus_to_exitcode(status)
    json.dump({"screen": screen, "exitCode": code}, sys.stdout)


def talk(pid: int, terminal: int, dialog: list) -> str:
    raw = b""
    seen_to = 0
    for chunk in chunks(pid, terminal):
        raw += chunk
        screen = ESCAPES.sub(b"", raw)
        while dialog:
            found = screen.find(dialog[0]["see"].encode(), seen_to)
            if found < 0:
                break
            seen_to = found + len(dialog[0]["see"].encode())
            entry = dialog.pop(0)
            if "hangUp" in entry:
                os.close(terminal)
                return screen.decode().replace("\r", "")
            if "signal" in entry:
                os.kill(pid, getattr(signal, entry["signal"]))
            elif "resize" in entry:
                resize(terminal, *entry["resize"])
            else:
                os.write(terminal, entry["type"].encode())
    return ESCAPES.sub(b"", raw).decode().replace("\r", "")


def resize(terminal: int, rows: int, columns: int) -> None:
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))


def chunks(pid: int, terminal: int):
    while True:
        ready, _, _ = select.select([terminal], [], [], SILENCE_LIMIT_SECONDS)
        if not ready:
            os.kill(pid, signal.SIGKILL)
            return
        try:
            chunk = os.read(terminal, 65536)
        except OSError:
            return
        if not chunk:
            return
        yield chunk


main()
