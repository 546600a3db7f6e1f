"""The management API."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from .connection import Connection
from .errors import (
    FlashRuntimeError,
    GraphQLError,
    GraphQLMutationError,
    GraphQLQueryError,
    HttpError,
    ServiceUnreachableError,
)
from .http_exchange import Request, exchange

CALL_SECONDS = 60.0
RETRY_PAUSES_SECONDS = (1.0, 2.0, 4.0)


def query(
    connection: Connection,
    document: str,
    variables: Mapping[str, Any],
    pauses_seconds: tuple[float, ...] = RETRY_PAUSES_SECONDS,
) -> dict[str, Any]:
    """Sends a request; retries after these pauses while the network or the service fails. Blocks.

    Raises:
        GraphQLQueryError: The service rejects the query.
        HttpError, ServiceUnreachableError, TimeoutError: The last attempt failed too.
    """
    for pause in pauses_seconds:
        try:
            return _call(connection, document, variables, GraphQLQueryError)
        except (ServiceUnreachableError, TimeoutError):
            pass
        except HttpError as error:
            if error.status < 500 and error.status != 429:
                raise
        time.sleep(pause)
    return _call(connection, document, variables, GraphQLQueryError)


def mutate(connection: Connection, document: str, variables: Mapping[str, Any]) -> dict[str, Any]:
    """Changes something, once: whether it was done is not known after a failure of the network. Blocks.

    Raises:
        GraphQLMutationError: The service rejects the mutation.
        HttpError, ServiceUnreachableError, TimeoutError: It failed.
    """
    return _call(connection, document, variables, GraphQLMutationError)


def _call(
    connection: Connection, document: str, variables: Mapping[str, Any], error_type: type[GraphQLError]
) -> dict[str, Any]:
    body = json.dumps({"query": document, "variables": variables}).encode()
    answer = exchange(Request("POST", f"{connection.url}/graphql", connection.api_key, CALL_SECONDS, body))
    if not isinstance(answer, dict):
        raise FlashRuntimeError(f"The service at {connection.url} gave an answer that is no JSON object.")
    if errors := answer.get("errors"):
        first = errors[0]
        code = (first.get("extensions") or {}).get("code")
        raise error_type("; ".join(str(error.get("message")) for error in errors), code=code)
    data = answer.get("data")
    return data if isinstance(data, dict) else {}
