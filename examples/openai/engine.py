"""The model and its names: the same behind a queue (handler.py) and as a server (server.py)."""

import os
import time

from answers import RequestError
from model import CharacterModel, package_folder

model = CharacterModel(package_folder())
names = os.environ.get("SERVED_MODEL_NAME", model.name).split(",")
started = int(time.time())


def list_models() -> dict:
    return {"object": "list", "data": [describe(name) for name in names]}


def describe(name: str) -> dict:
    if name not in names:
        raise RequestError(f"The model `{name}` does not exist.", "NotFoundError", "model", 404)
    return {"id": name, "object": "model", "created": started, "owned_by": "edgerun"}
