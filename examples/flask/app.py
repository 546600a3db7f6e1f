"""A load-balanced worker on Flask: JSON, files and server-sent events."""

import hashlib
import queue
import threading

from flask import Flask, Response, request

PIECE_BYTES = 64 * 1024

app = Flask(__name__)


class Board:
    """Streams the notes that are posted from now on to each reader."""

    def __init__(self):
        self.readers = set()
        self.lock = threading.Lock()

    def post(self, note):
        with self.lock:
            for reader in self.readers:
                reader.put(note)
            return len(self.readers)

    def events(self):
        notes = queue.SimpleQueue()
        with self.lock:
            self.readers.add(notes)
        try:
            yield "event: open\ndata: \n\n"
            while True:
                yield f"data: {notes.get()}\n\n"
        finally:
            with self.lock:
                self.readers.discard(notes)


board = Board()


@app.get("/ping")
def ping():
    return ""


@app.post("/count")
def count():
    text = request.get_json()["text"]
    return {"wordCount": len(text.split()), "characterCount": len(text)}


@app.post("/files")
def upload():
    """Takes a body of any length piece by piece."""
    digest, length = hashlib.sha256(), 0
    while piece := request.stream.read(PIECE_BYTES):
        digest.update(piece)
        length += len(piece)
    return {"bytes": length, "sha256": digest.hexdigest()}


@app.get("/files/<int:length>")
def download(length):
    """Sends so many bytes, always the same ones."""
    headers = {"Content-Length": str(length)}
    return Response(pieces(length), mimetype="application/octet-stream", headers=headers)


def pieces(length):
    pattern = bytes(range(256)) * (PIECE_BYTES // 256)
    while length > 0:
        yield pattern[:length]
        length -= PIECE_BYTES


@app.get("/notes")
def read_notes():
    headers = {"Cache-Control": "no-store"}
    return Response(board.events(), mimetype="text/event-stream", headers=headers)


@app.post("/notes")
def post_note():
    return {"readers": board.post(request.get_json()["note"])}
