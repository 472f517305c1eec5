"""`backends`: the Prometheus servers that rules may name."""

from pathlib import Path
from typing import Literal, cast

from adapter.config.document import Block
from adapter.config.problems import ProblemCode
from adapter.model import DEFAULT_BACKEND, Backend, BackendRef
from wire.prometheus.access import PrometheusURL
from wire.prometheus.headers import SET_BY_THE_CLIENT, check_header


def read_backends(top: Block) -> tuple[Backend, ...]:
    """All backends of the file, with unique names."""
    found: dict[str, Backend] = {}
    for block in top.blocks("backends"):
        backend = _read_backend(block)
        if backend.name in found:
            block.error(
                ProblemCode.DUPLICATE_NAME,
                "name",
                f"there is already a backend {backend.name!r}",
                "Give each backend its own name.",
            )
        found[backend.name] = backend
    return tuple(found.values())


def read_backend_ref(rule: Block, known: tuple[Backend, ...]) -> BackendRef:
    """The backend of a rule; that of `--prometheus-url` when it names none."""
    name = rule.text("backend", DEFAULT_BACKEND)
    names = sorted({DEFAULT_BACKEND, *(backend.name for backend in known)})
    if name not in names:
        rule.error(
            ProblemCode.UNKNOWN_BACKEND,
            "backend",
            f"there is no backend {name!r}",
            f"Use one of {', '.join(names)}, or add it under `backends`.",
        )
    return next((backend.ref for backend in known if backend.name == name), BackendRef())


def _read_backend(block: Block) -> Backend:
    defaults = Backend(url="")

    def path(name: str) -> Path | None:
        text = block.text(name)
        return Path(text) if text else None

    timeout_seconds = block.go_seconds("timeout", defaults.timeout_seconds)
    backend = Backend(
        name=block.required_text("name", "Give it a name; rules refer to it by `backend: NAME`."),
        url=_url(block),
        verb=cast("Literal['GET', 'POST']", block.choice("verb", ("GET", "POST"), defaults.verb)),
        headers=_headers(block),
        token_file=path("tokenFile"),
        ca_file=path("caFile"),
        client_cert_file=path("clientCertFile"),
        client_key_file=path("clientKeyFile"),
        username=block.text("username"),
        password_file=path("passwordFile"),
        timeout_seconds=timeout_seconds,
        discovery_timeout_seconds=Backend.discovery_seconds(timeout_seconds),
        concurrency_max=block.number("maxConcurrency", defaults.concurrency_max),
    )
    _check_credentials(block, backend)
    block.close()
    return backend


def _url(block: Block) -> str:
    fix = "Write it as http://HOST:9090 or https://HOST/PATH."
    url = block.required_text("url", fix)
    problem = _url_problem(url)
    if url and problem:
        block.error(
            ProblemCode.INVALID_URL, "url", f"this is not a URL of a Prometheus: {problem}", fix
        )
    return url


def _url_problem(url: str) -> str:
    try:
        return "a Unix socket cannot be used here" if PrometheusURL.of(url).socket else ""
    except ValueError as error:
        return str(error)


def _headers(block: Block) -> tuple[tuple[str, str], ...]:
    headers = block.block("headers")
    found = tuple((name, headers.text(name)) for name in headers.names())
    for name, value in found:
        try:
            check_header(name, value)
        except ValueError as error:
            headers.error(ProblemCode.INVALID_VALUE, name, str(error), "Write it as NAME: VALUE.")
        if name.lower() in SET_BY_THE_CLIENT:
            headers.warning(
                ProblemCode.NO_EFFECT,
                name,
                f"`{name}` has no effect: the client sets it for each request",
                "Delete it.",
            )
    return found


def _check_credentials(block: Block, backend: Backend) -> None:
    if (backend.client_cert_file is None) != (backend.client_key_file is None):
        block.error(
            ProblemCode.INVALID_CREDENTIALS,
            "",
            "a client certificate needs its key",
            "Give both `clientCertFile` and `clientKeyFile`.",
        )
    if bool(backend.username) != (backend.password_file is not None):
        block.error(
            ProblemCode.INVALID_CREDENTIALS,
            "",
            "basic authentication needs a user and a password",
            "Give both `username` and `passwordFile`.",
        )
    if backend.username and backend.token_file:
        block.error(
            ProblemCode.INVALID_CREDENTIALS,
            "",
            "a token and a password are mutually exclusive",
            "Keep `tokenFile`, or `username` and `passwordFile`.",
        )
