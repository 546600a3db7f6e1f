"""OpenAI's chat completions and completions, made of characters. A token is a character."""

import time
import uuid

MAX_TOKENS_DEFAULT = 100
MAX_TOKENS_LIMIT = 2_000


class RequestError(Exception):
    """A request that cannot be answered; what the client is told of it."""

    def __init__(self, message: str, kind: str = "BadRequestError", param: str | None = None, code: int = 400):
        super().__init__(message)
        self.error = {"message": message, "type": kind, "param": param, "code": code}


class CompletionRequest:
    """What a request asks for; raises RequestError."""

    def __init__(self, body: dict, models: list[str], is_chat: bool) -> None:
        self.model = body.get("model") or models[0]
        if self.model not in models:
            raise RequestError(f"The model `{self.model}` does not exist.", "NotFoundError", "model", 404)
        if body.get("n") not in (None, 1):
            raise RequestError("n must be 1.", param="n")
        self.is_chat = is_chat
        self.is_stream = body.get("stream") is True
        self.prompt = read_messages(body) if is_chat else read_prompt(body)
        self.max_tokens = read_number(body, "max_completion_tokens", read_number(body, "max_tokens", MAX_TOKENS_DEFAULT))
        if not 1 <= self.max_tokens <= MAX_TOKENS_LIMIT or self.max_tokens != int(self.max_tokens):
            raise RequestError(f"max_tokens must be a whole number from 1 to {MAX_TOKENS_LIMIT}.", param="max_tokens")
        self.temperature = read_number(body, "temperature", 0.5)
        if not 0 <= self.temperature <= 2:
            raise RequestError("temperature must be from 0 to 2.", param="temperature")
        self.seed = body.get("seed")
        stop = body.get("stop") or []
        self.stops = [stop] if isinstance(stop, str) else stop
        self.wants_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        self.failure = body.get("fail")


def read_number(body: dict, name: str, default: float) -> float:
    value = body.get(name)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise RequestError(f"{name} must be a number.", param=name)
    return value


def read_messages(body: dict) -> str:
    """The words of the last message; the model knows no conversations."""
    messages = body.get("messages")
    if not isinstance(messages, list) or not messages or not isinstance(messages[-1], dict):
        raise RequestError("messages must be a list of at least one message.", param="messages")
    content = messages[-1].get("content")
    if isinstance(content, list):
        content = "".join(part.get("text", "") for part in content if isinstance(part, dict))
    if not isinstance(content, str):
        raise RequestError("The content of the last message must be text.", param="messages")
    return content


def read_prompt(body: dict) -> str:
    """The text, which some clients send in a list."""
    prompt = body.get("prompt")
    if isinstance(prompt, list) and len(prompt) == 1:
        prompt = prompt[0]
    if not isinstance(prompt, str):
        raise RequestError("prompt must be a text, or a list of one text.", param="prompt")
    return prompt


class Answer:
    """The words of one answer, as they are generated, and the objects that carry them."""

    def __init__(self, completion: CompletionRequest) -> None:
        self._completion = completion
        self._about = {
            "id": f"{'chatcmpl' if completion.is_chat else 'cmpl'}-{uuid.uuid4().hex}",
            "created": int(time.time()),
            "model": completion.model,
        }
        self.text = ""
        self._count = 0
        self.reason = None

    def take(self, characters):
        """Yields what may be shown of each character; what may begin a stop is held back."""
        shown = 0
        for character in characters:
            self.text += character
            self._count += 1
            at = min((found for stop in self._completion.stops if (found := self.text.find(stop)) >= 0), default=-1)
            if at >= 0:
                self.text, self.reason = self.text[:at], "stop"
                break
            if self._count >= self._completion.max_tokens:
                self.reason = "length"
                break
            safe = len(self.text) - max((len(stop) - 1 for stop in self._completion.stops), default=0)
            yield self.text[shown:safe] if safe > shown else ""
            shown = max(shown, safe)
        self.reason = self.reason or "stop"
        yield self.text[shown:]

    @property
    def usage(self) -> dict:
        asked = len(self._completion.prompt)
        return {"prompt_tokens": asked, "completion_tokens": self._count, "total_tokens": asked + self._count}

    def whole(self) -> dict:
        if self._completion.is_chat:
            part = {"message": {"role": "assistant", "content": self.text}}
        else:
            part = {"text": self.text}
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": self.reason}
        kind = "chat.completion" if self._completion.is_chat else "text_completion"
        return {**self._about, "object": kind, "choices": [choice], "usage": self.usage}

    def chunk(self, text: str, reason: str | None = None, is_first: bool = False) -> dict:
        if self._completion.is_chat:
            role = {"role": "assistant"} if is_first else {}
            part = {"delta": {**role, "content": text} if reason is None else {}}
        else:
            part = {"text": text}
        choice = {"index": 0, **part, "logprobs": None, "finish_reason": reason}
        return {**self._about, "object": self._chunk_kind, "choices": [choice]}

    def usage_chunk(self) -> dict:
        return {**self._about, "object": self._chunk_kind, "choices": [], "usage": self.usage}

    @property
    def _chunk_kind(self) -> str:
        return "chat.completion.chunk" if self._completion.is_chat else "text_completion"
