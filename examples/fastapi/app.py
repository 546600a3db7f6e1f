"""A load-balanced worker on FastAPI: JSON, files, server-sent events and a WebSocket."""

import asyncio
import hashlib
import os
from contextlib import asynccontextmanager, suppress

import uvicorn
from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

PIECE_BYTES = 64 * 1024


class Text(BaseModel):
    text: str


class Note(BaseModel):
    note: str


class Board:
    """Streams the notes that are posted from now on to each reader."""

    def __init__(self):
        self.readers = set()

    def post(self, note):
        for reader in self.readers:
            reader.put_nowait(note)

    async def events(self):
        notes = asyncio.Queue()
        self.readers.add(notes)
        try:
            yield "event: open\ndata: \n\n"
            while True:
                yield f"data: {await notes.get()}\n\n"
        finally:
            self.readers.discard(notes)


is_loaded = asyncio.Event()
board = Board()


async def load():
    """Stands for what a real worker does first, such as loading a model."""
    await asyncio.sleep(float(os.environ.get("LOAD_SECONDS", "0")))
    is_loaded.set()


@asynccontextmanager
async def life(_app):
    loading = asyncio.create_task(load())
    yield
    loading.cancel()


app = FastAPI(title="A load-balanced worker", lifespan=life)


@app.get("/ping")
async def ping():
    """204 while the worker loads, 200 from then on."""
    return Response(status_code=200 if is_loaded.is_set() else 204)


@app.post("/count")
async def count(body: Text):
    return {"wordCount": len(body.text.split()), "characterCount": len(body.text)}


@app.post("/files")
async def upload(request: Request):
    """Takes a body of any length piece by piece."""
    digest, length = hashlib.sha256(), 0
    async for piece in request.stream():
        digest.update(piece)
        length += len(piece)
    return {"bytes": length, "sha256": digest.hexdigest()}


@app.get("/files/{length}")
async def download(length: int):
    """Sends so many bytes, always the same ones."""
    headers = {"Content-Length": str(length)}
    return StreamingResponse(pieces(length), media_type="application/octet-stream", headers=headers)


async def pieces(length):
    pattern = bytes(range(256)) * (PIECE_BYTES // 256)
    while length > 0:
        yield pattern[:length]
        length -= PIECE_BYTES


@app.get("/notes")
async def read_notes():
    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(board.events(), media_type="text/event-stream", headers=headers)


@app.post("/notes")
async def post_note(body: Note):
    board.post(body.note)
    return {"readers": len(board.readers)}


@app.websocket("/talk")
async def talk(socket: WebSocket):
    """Answers each message with itself."""
    await socket.accept()
    with suppress(WebSocketDisconnect):
        while True:
            message = await socket.receive()
            if message["type"] == "websocket.disconnect":
                break
            if (text := message.get("text")) is not None:
                await socket.send_text(text)
            else:
                await socket.send_bytes(message["bytes"])


if __name__ == "__main__":
    uvicorn.run(app, host="0.0.0.0", port=int(os.environ["PORT"]), access_log=False)
