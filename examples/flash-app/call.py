"""Calls the deployed functions: `python call.py`, in this folder, after `flash deploy`."""

import asyncio
import json

from images import thumbnail
from numbers_worker import statistics
from sentiment import Sentiment


async def main() -> None:
    picture, numbers = await asyncio.gather(thumbnail(640, 480), statistics([1, 2, 3, 4]))
    model = Sentiment()
    opinion = await model.predict(text="a great and wonderful film")
    print(json.dumps({"size": [picture["width"], picture["height"]], "mean": numbers["mean"], "opinion": opinion["label"]}))


if __name__ == "__main__":
    asyncio.run(main())
