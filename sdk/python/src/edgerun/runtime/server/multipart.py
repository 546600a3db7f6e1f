"""Fields and files of forms."""

from __future__ import annotations

from email.message import Message
from urllib.parse import parse_qsl

from .message import RequestError

_PARTS_MAX = 1_000

# Text of a field, or the content of a file.
Field = str | bytes


def is_form(content_type: str) -> bool:
    kind = content_type.partition(";")[0].strip().lower()
    return kind in ("multipart/form-data", "application/x-www-form-urlencoded")


def read_form(content_type: str, body: bytes) -> dict[str, list[Field]]:
    """The fields of a form by name. Raises Refusal."""
    header = Message()
    header["content-type"] = content_type
    if header.get_content_type() == "application/x-www-form-urlencoded":
        return _read_urlencoded(body)
    boundary = header.get_param("boundary")
    if not isinstance(boundary, str) or not 0 < len(boundary) <= 200:
        raise RequestError(400, "The form has no boundary.")
    return _read_multipart(boundary.encode("latin-1", "replace"), body)


def _read_urlencoded(body: bytes) -> dict[str, list[Field]]:
    try:
        pairs = parse_qsl(body.decode("utf-8"), keep_blank_values=True, max_num_fields=_PARTS_MAX)
    except ValueError:
        raise RequestError(400, "The form cannot be read.") from None
    fields: dict[str, list[Field]] = {}
    for name, value in pairs:
        fields.setdefault(name, []).append(value)
    return fields


def _read_multipart(boundary: bytes, body: bytes) -> dict[str, list[Field]]:
    first, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary, _PARTS_MAX + 1)
    if len(parts) > _PARTS_MAX or not parts or not parts[-1].startswith(b"--"):
        raise RequestError(400, "The form does not end with its boundary.")
    fields: dict[str, list[Field]] = {}
    for part in parts[:-1]:
        name, value = _read_part(part)
        fields.setdefault(name, []).append(value)
    return fields


def _read_part(part: bytes) -> tuple[str, Field]:
    start, _, rest = part.partition(b"\r\n")
    if start.strip(b" \t"):
        raise RequestError(400, "A part of the form is malformed.")
    if rest.startswith(b"\r\n"):
        head, content = b"", rest[2:]
    else:
        head, separator, content = rest.partition(b"\r\n\r\n")
        if not separator:
            raise RequestError(400, "A part of the form is malformed.")
    header = _disposition(head)
    name = header.get_param("name", header="content-disposition")
    if not isinstance(name, str):
        raise RequestError(400, "A part of the form has no name.")
    if header.get_filename() is not None:
        return name, content
    try:
        return name, content.decode("utf-8")
    except UnicodeDecodeError:
        return name, content


def _disposition(head: bytes) -> Message:
    message = Message()
    for line in head.decode("utf-8", "replace").split("\r\n"):
        name, _, value = line.partition(":")
        if name.strip().lower() == "content-disposition" and "content-disposition" not in message:
            message["content-disposition"] = value.strip()
    return message
