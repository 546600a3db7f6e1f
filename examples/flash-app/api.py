"""Routes: HTTP straight to a worker, which calls the functions of other endpoints."""

from edgerun import Endpoint

api = Endpoint(name="api", cpu="cpu3c-1-2", workers=(0, 1))

NOTES: dict[int, str] = {}


@api.post("/summary")
async def summary(values: list[float]) -> dict:
    """Statistics of some values, with a summary."""
    from numbers_worker import statistics

    found = await statistics(values)
    return {"summary": f"{len(values)} values, {found['mean']:.2f} in the middle", **found}


@api.put("/notes/{note_id}")
def put_note(note_id: int, text: str) -> dict:
    """Keeps a note for as long as the worker lives."""
    NOTES[note_id] = text
    return {"notes": len(NOTES)}


@api.get("/notes/{note_id}")
def get_note(note_id: int) -> dict:
    """A note that was kept."""
    return {"note_id": note_id, "text": NOTES.get(note_id)}
