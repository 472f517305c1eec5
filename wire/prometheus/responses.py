"""What the responses of Prometheus' HTTP API have in common.

https://prometheus.io/docs/prometheus/latest/querying/api/ ; Thanos, Mimir and VictoriaMetrics use the same format and
add fields of their own, which are skipped.
"""

import msgspec


class Envelope(msgspec.Struct, rename="camel", kw_only=True):
    """What every response has around its `data`. Some servers write null for what they do not have."""

    status: str | None = None
    error_type: str | None = None
    error: str | None = None
    warnings: list[str] | None = None


class Refusal(msgspec.Struct, rename="camel"):
    """The body of a 400, 422 or 503."""

    error: str
    error_type: str | None = None


_refusal_decoder = msgspec.json.Decoder(Refusal)


def decode_refusal(body: bytes) -> Refusal | None:
    """Decode the body of an error; None when it is not of Prometheus' form (a proxy's page, an empty body)."""
    try:
        return _refusal_decoder.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def reports_missing_stores(warning: str) -> bool:
    """Thanos returns what it has and says in a warning what is missing; PromQL's own warnings are something else."""
    return not warning.startswith("PromQL ")
