"""A model: it is trained once, when its worker starts, and asked many times."""

from edgerun import Endpoint

PRAISE = ["a wonderful day", "what a great film", "good and kind people", "I love this"]
BLAME = ["an awful day", "what a terrible film", "bad and rude people", "I hate this"]


@Endpoint(name="sentiment", cpu="cpu3c-1-2")
class Sentiment:
    """Tells praise from blame."""

    def __init__(self) -> None:
        import numpy

        self._vocabulary = sorted({word for text in PRAISE + BLAME for word in text.lower().split()})
        features = numpy.array([self._features(text) for text in PRAISE + BLAME])
        signs = numpy.array([1.0] * len(PRAISE) + [-1.0] * len(BLAME))
        self._weights = numpy.linalg.lstsq(features, signs, rcond=None)[0]
        self._asked = 0

    def _features(self, text: str) -> list[float]:
        tokens = text.lower().split()
        return [float(tokens.count(word)) for word in self._vocabulary]

    def predict(self, text: str) -> dict:
        """Praise or blame, and how sure that is."""
        self._asked += 1
        score = float(sum(w * f for w, f in zip(self._weights, self._features(text))))
        return {"label": "praise" if score > 0 else "blame", "score": round(score, 3)}

    def asked(self) -> int:
        """How often this worker was asked."""
        return self._asked
