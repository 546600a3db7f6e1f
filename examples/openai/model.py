"""textgenrnn with numpy alone: a language model of characters that continues a text.

The weights come from the package textgenrnn: two LSTM layers of 128 units over the last 40 characters, whose states
are weighed by attention. It was trained on titles of an Internet forum, and writes like that.
"""

import importlib.util
import json
from pathlib import Path

import h5py
import numpy as np

WINDOW = 40
META = "<s>"
UNITS = 128
SMALLEST = 1e-9


def package_folder() -> Path:
    """Where the package lies; importing it would import TensorFlow."""
    return Path(next(iter(importlib.util.find_spec("textgenrnn").submodule_search_locations)))


class CharacterModel:
    """Says how probable each character is to come next."""

    name = "textgenrnn"

    def __init__(self, folder: Path) -> None:
        vocabulary = json.loads((folder / "textgenrnn_vocab.json").read_text())
        self._index_of = vocabulary
        self._character_at = {index: character for character, index in vocabulary.items()}
        with h5py.File(folder / "textgenrnn_weights.hdf5") as file:
            self._embedding = np.asarray(file["embedding"]["embedding"]["embeddings:0"])
            self._layers = [Lstm(file[name][name]) for name in ("rnn_1", "rnn_2")]
            self._attention = np.asarray(file["attention"]["attention"]["attention_W:0"])
            self._kernel = np.asarray(file["output"]["output"]["kernel:0"])
            self._bias = np.asarray(file["output"]["output"]["bias:0"])

    def generate(self, prefix: str, temperature: float, seed: int | None):
        """Yields characters that continue the prefix, until the text is over."""
        chance = np.random.default_rng(seed)
        window = [self._index_of.get(character, 0) for character in [META, *prefix]]
        while True:
            index = choose(self._probabilities(window[-WINDOW:]), temperature, chance)
            character = self._character_at.get(index, META)
            if character == META:
                return
            window.append(index)
            yield character

    def _probabilities(self, indices: list[int]) -> np.ndarray:
        padded = [0] * (WINDOW - len(indices)) + indices
        states = [self._embedding[padded]]
        for layer in self._layers:
            states.append(layer.run(states[-1]))
        joined = np.concatenate(states, axis=1)
        weighed = softmax((joined @ self._attention)[:, 0]) @ joined
        return softmax(weighed @ self._kernel + self._bias)


class Lstm:
    """One layer. Its weights lie as GPUs want them: each gate's input weights by columns, the others transposed."""

    def __init__(self, weights: h5py.Group) -> None:
        kernel, recurrent, bias = (np.asarray(weights[f"{part}:0"]) for part in ("kernel", "recurrent_kernel", "bias"))
        gates = np.hsplit(kernel, 4)
        self._kernel = np.hstack([gate.T.reshape(gate.shape, order="F") for gate in gates])
        self._recurrent = np.hstack([gate.T for gate in np.hsplit(recurrent, 4)])
        self._bias = bias[: 4 * UNITS] + bias[4 * UNITS :]

    def run(self, inputs: np.ndarray) -> np.ndarray:
        """The state after each input."""
        driven = inputs @ self._kernel + self._bias
        states = np.empty((len(inputs), UNITS), np.float32)
        state = memory = np.zeros(UNITS, np.float32)
        for at, drive in enumerate(driven):
            gates = drive + state @ self._recurrent
            opens = sigmoid(gates)
            memory = opens[UNITS : 2 * UNITS] * memory + opens[:UNITS] * np.tanh(gates[2 * UNITS : 3 * UNITS])
            state = opens[3 * UNITS :] * np.tanh(memory)
            states[at] = state
        return states


def choose(probabilities: np.ndarray, temperature: float, chance: np.random.Generator) -> int:
    """The most probable character at temperature 0; index 0 stands for none."""
    known = probabilities.astype(np.float64)
    known[0] = 0
    if temperature == 0:
        return int(known.argmax())
    weights = np.exp(np.log(known + SMALLEST) / temperature)
    weights[0] = 0
    return int(chance.choice(len(weights), p=weights / weights.sum()))


def sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


def softmax(scores: np.ndarray) -> np.ndarray:
    exponentials = np.exp(scores - scores.max())
    return exponentials / exponentials.sum()
