"""Names of named metrics and backends that are unique among all objects that are converted together."""

import re
from collections.abc import Collection, Mapping
from typing import Final
from urllib.parse import SplitResult, urlsplit

from kubectl_loadline.migration.conversion import Json

LABEL_LENGTH_MAX: Final = 63
DEFAULT_BACKEND: Final = "default"  # That of the adapter's flags.
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}
_PROMETHEUS_PORT: Final = 9090
_SERVICE_SUFFIX: Final = re.compile(r"\.svc(\.cluster\.local)?\.?$")


class AdapterNames:
    """The names that were given so far."""

    def __init__(self) -> None:
        self._metrics: set[str] = set()
        self._backends: dict[tuple[str, ...], Json] = {}

    def metric(self, wanted: str) -> str:
        """The name of a new named metric: the text in lower case as part of a URL path, with a number if it is taken."""
        cleaned = re.sub(r"[^\w.-]", "_", wanted, flags=re.ASCII).lower()
        name = unique(cleaned, self._metrics, separator="_")
        self._metrics.add(name)
        return name

    def backend(self, address: str, tenant: Mapping[str, str]) -> Json | None:
        """The backend of this address for this tenant, whose settings are part of its identity only; None unless it is a URL of http or https."""
        try:
            parts = urlsplit(address.strip())
            is_url = parts.scheme in _DEFAULT_PORTS and bool(parts.hostname) and parts.port != 0
        except ValueError:
            return None
        if not is_url:
            return None
        url = _normalized(parts)
        key = (url, *(f"{name}={value}" for name, value in sorted(tenant.items())))
        if key not in self._backends:
            taken = {DEFAULT_BACKEND, *(each["name"] for each in self._backends.values())}
            name = unique(_backend_name(urlsplit(url)), taken, separator="-")
            self._backends[key] = {"name": name, "url": url}
        return self._backends[key]


def unique(wanted: str, taken: Collection[str], *, separator: str) -> str:
    """The wanted name, or with the first number that makes it another one than those."""
    name, count = wanted, 1
    while name in taken:
        count += 1
        name = f"{wanted}{separator}{count}"
    return name


def dns_label(text: str) -> str:
    """A DNS label of the text, which may be empty."""
    cleaned = re.sub(r"[^a-z0-9-]", "-", text.lower())
    # Short enough for a number that makes it unique.
    return cleaned.strip("-")[: LABEL_LENGTH_MAX - 4].strip("-")


def _normalized(parts: SplitResult) -> str:
    """The same text for the same server: without the port of the scheme and the slash at the end."""
    scheme, host = parts.scheme.lower(), parts.netloc.lower().removesuffix(":")
    if parts.username is not None:
        user, _, _ = parts.netloc.rpartition("@")
        host = f"{user}@{host.rpartition('@')[2]}"
    port = _DEFAULT_PORTS.get(scheme)
    return parts._replace(
        scheme=scheme, netloc=host.removesuffix(f":{port}"), path=parts.path.rstrip("/")
    ).geturl()


def _backend_name(parts: SplitResult) -> str:
    """Of the host, a port that is not usual and the path, such as `thanos-monitoring-10902-team-a`."""
    host = _SERVICE_SUFFIX.sub("", parts.hostname or "")
    port = "" if parts.port in (None, _PROMETHEUS_PORT) else f"-{parts.port}"
    return dns_label(f"{host}{port}{parts.path}") or "prometheus"
