"""One HTTP request, from its headers to what its answer means."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
from email.message import Message
from functools import cache
from typing import IO, Any

from .errors import (
    APIKeyError,
    HttpError,
    PayloadTooLargeError,
    SerializationError,
    ServiceUnreachableError,
)
from .http_exchange import Request
from .json_value import JsonLimitError, parse_json, parse_object
from .loopback import is_here
from .version import __version__


def send(request: Request) -> Any:
    """What `exchange` does."""
    headers = {
        **({"Authorization": f"Bearer {request.api_key}"} if request.api_key else {}),
        "Accept": "application/json",
        "User-Agent": f"edgerun-python/{__version__}",
        **({"Content-Type": "application/json"} if request.body is not None else {}),
        **(request.headers or {}),
    }
    sent = urllib.request.Request(request.url, data=request.body, headers=headers, method=request.method)
    try:
        with _opener(is_here(request.url)).open(sent, timeout=request.timeout_seconds) as answer:
            return _parse(answer.read())
    except urllib.error.HTTPError as error:
        with error:
            raise _http_error(request, error) from None
    except urllib.error.URLError as error:
        if isinstance(error.reason, TimeoutError):
            raise _timeout(request) from None
        raise _unreachable(request, error.reason) from None
    except TimeoutError:
        raise _timeout(request) from None
    except (OSError, http.client.HTTPException) as error:
        raise _unreachable(request, error) from None


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would take the API key to wherever it leads."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Message, newurl: str
    ) -> None:
        return None


@cache
def _opener(bypasses_proxy: bool) -> urllib.request.OpenerDirector:
    around = [urllib.request.ProxyHandler({})] if bypasses_proxy else []
    return urllib.request.build_opener(_NoRedirects, *around)


def _parse(body: bytes) -> Any:
    if not body:
        return None
    try:
        return parse_json(body)
    except JsonLimitError as error:
        raise SerializationError(f"The response is JSON that Python cannot parse: {error}.") from None
    except ValueError:
        return body.decode(errors="replace")


def _http_error(request: Request, error: urllib.error.HTTPError) -> Exception:
    try:
        text = error.read().decode(errors="replace")
    except (OSError, http.client.HTTPException):
        text = ""
    said = _message_of(text)
    if error.code == 401:
        return APIKeyError(f"The service at {_origin(request.url)} refuses the API key: {said}")
    if error.code == 413:
        return PayloadTooLargeError(f"The service does not take that much: {said}")
    return HttpError(
        f"{request.method} {request.url} was answered with HTTP {error.code}: {said}",
        status=error.code,
        body=text,
        code=_code_of(text),
        retry_after=_seconds(error.headers.get("Retry-After")),
        headers={name.lower(): value for name, value in error.headers.items()},
    )


def _message_of(text: str) -> str:
    parsed = parse_object(text)
    for key in ("error", "message", "detail"):
        if isinstance(parsed.get(key), str):
            return str(parsed[key])
    if isinstance(parsed.get("detail"), list):
        return "; ".join(map(_detail_of, parsed["detail"]))[:2000]
    return text.strip()[:2000] or "the response has no details."


def _detail_of(detail: Any) -> str:
    """One thing that is wrong with an input, such as "body.name: Field required"."""
    if not isinstance(detail, dict):
        return str(detail)
    place = ".".join(map(str, detail.get("loc") or []))
    return f"{place}: {detail.get('msg')}" if place else str(detail.get("msg"))


def _code_of(text: str) -> str | None:
    code = parse_object(text).get("code")
    return code if isinstance(code, str) else None


def _seconds(value: str | None) -> float | None:
    try:
        return max(0.0, float(value)) if value is not None else None
    except ValueError:
        return None


def _origin(url: str) -> str:
    return "/".join(url.split("/", 3)[:3])


def _timeout(request: Request) -> TimeoutError:
    return TimeoutError(
        f"{request.method} {request.url} was not answered within {request.timeout_seconds:g} s."
    )


def _unreachable(request: Request, reason: object) -> ServiceUnreachableError:
    return ServiceUnreachableError(
        f"The service at {_origin(request.url)} cannot be reached: {reason}. "
        "Check the URL (EDGERUN_URL, or `flash login --url`), and that the service runs."
    )
