"""The one door to prometheus-api-client: for people's commands, which may wait and want every series whole.

The serving path has its own (`fetch/prometheus.py`): this client is synchronous, and drops the kind and the warnings of
an answer. Everything that goes wrong comes out as `QueryFailed`, never with a secret.
"""

import ast
import re
import ssl
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qsl

import msgspec
from prometheus_api_client import PrometheusConnect
from prometheus_api_client.exceptions import PrometheusApiClientException
from requests import RequestException, Session
from requests.adapters import HTTPAdapter
from requests.exceptions import InvalidJSONError

from adapter.fetch.credentials import Address
from adapter.model import Backend, Evaluation, ResultKind, Sample
from adapter.ports import QueryFailed

LIST_SECONDS = 600.0
"""How far back series are listed: the default of --metrics-max-age."""

# The client puts status and body into its message, and nowhere else.
_REFUSAL = re.compile(r"HTTP Status Code (\d+) \((b.*)\)\Z", re.DOTALL)


class History:
    """One backend. Close it, or use it as a context."""

    def __init__(
        self, backend: Backend, *, headers: Mapping[str, str], tls: ssl.SSLContext | bool
    ) -> None:
        """`headers` and `tls` are those of the backend's credentials."""
        address = Address.of(backend.url)
        self.backend = backend
        self._parameters = parse_qsl(address.parameters, keep_blank_values=True)
        session = Session()
        session.trust_env = False  # a .netrc must not show somebody else's password
        self._client = PrometheusConnect(
            url=address.base,
            headers={**dict(backend.headers), **headers},
            session=session,
            timeout=backend.timeout_seconds,
            method=backend.verb,
        )
        session.mount(address.base, _Adapter(tls))  # in place of the client's, which retries

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def series(self, match: str, *, seconds: float = LIST_SECONDS) -> list[dict[str, str]]:
        """The label sets of the series that `match` selected in the last `seconds`; raises `QueryFailed`."""
        now_seconds = time.time()
        start, end = (
            datetime.fromtimestamp(at_seconds, UTC)
            for at_seconds in (now_seconds - seconds, now_seconds)
        )
        try:
            found = self._client.get_series(start, end, params=self._with({"match[]": match}))
            return msgspec.convert(found or [], list[dict[str, str]])
        except _ERRORS as error:
            raise self._failed(match, error) from error

    def instant(self, query: str) -> Evaluation:
        """The query at Prometheus' own now; raises `QueryFailed`."""
        try:
            result = self._client.custom_query(query, params=self._with({}))
            kind, samples = _read(result)
        except _ERRORS as error:
            raise self._failed(query, error) from error
        return Evaluation(samples=samples, evaluated_at_seconds=time.time(), kind=kind)

    def _with(self, asked: dict[str, str]) -> dict[str, str]:
        return {**dict(self._parameters), **asked}

    def _failed(self, question: str, error: Exception) -> QueryFailed:
        cause, retryable = _cause(error)
        return QueryFailed(
            backend=self.backend.name, query=question, cause=cause, retryable=retryable
        )


_ERRORS = (RequestException, PrometheusApiClientException, ValueError, KeyError, TypeError, OSError)


class _Adapter(HTTPAdapter):
    """Connections by our own TLS context, so that the credentials of the server and of the commands are the same."""

    def __init__(self, tls: ssl.SSLContext | bool) -> None:
        self._tls = tls if isinstance(tls, ssl.SSLContext) else ssl.create_default_context()
        super().__init__()

    def init_poolmanager(self, *args: Any, **more: Any) -> None:
        super().init_poolmanager(*args, ssl_context=self._tls, **more)

    def cert_verify(self, conn: Any, url: Any, verify: Any, cert: Any) -> None:
        """The context says whom to trust; requests would add its own bundle to it."""


def _read(result: Any) -> tuple[ResultKind, tuple[Sample, ...]]:
    """What `data.result` holds; the client has dropped `resultType`, and its form tells as much."""
    if result and isinstance(result[0], dict):
        if "value" not in result[0]:
            return ResultKind.MATRIX, ()
        return ResultKind.VECTOR, tuple(_sample(row["metric"], row["value"]) for row in result)
    if result:
        return ResultKind.SCALAR, (_sample({}, result),)
    return ResultKind.VECTOR, ()


def _sample(labels: Mapping[str, str], point: Sequence[Any]) -> Sample:
    return Sample(dict(labels), float(point[1]), float(point[0]))


def _cause(error: Exception) -> tuple[str, bool]:
    """A sentence, and whether the same question may succeed later."""
    if isinstance(error, RequestException) and not isinstance(error, InvalidJSONError):
        return _of_connection(error), True
    refused = _REFUSAL.match(str(error))
    if refused is None:
        return f"the answer is not Prometheus' JSON: {error}", False
    code, body = int(refused[1]), ast.literal_eval(refused[2])
    try:
        said = msgspec.json.decode(body, type=_Refusal)
    except msgspec.DecodeError:
        said = _Refusal()
    text = f"{said.error_type}: {said.error}" if said.error else f"HTTP {code}"
    return text, code >= 500


def _of_connection(error: BaseException) -> str:
    """The innermost cause: requests and urllib3 wrap it in theirs, addresses of objects included."""
    inner: BaseException = error
    while (deeper := inner.__cause__ or inner.__context__) is not None:
        inner = deeper
    return str(inner) or type(inner).__name__


class _Refusal(msgspec.Struct, frozen=True, rename="camel"):
    error_type: str = "error"
    error: str = ""
