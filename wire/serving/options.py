"""The flags of Kubernetes' generic API server that both programs share, by the same names.

A Deployment of another aggregated API server keeps its arguments: what has lost its meaning is
accepted and said to be ignored, with the reason (`IGNORED`).
"""

import argparse
import logging
from pathlib import Path

import msgspec

from wire.serving.flags import CommaList, FlagParser, boolean, duration_seconds, port

log = logging.getLogger(__name__)

TLS_VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")
ALWAYS_ALLOWED = ("/healthz", "/readyz", "/livez")

_NO_HTTP2 = "HTTP/1.1 is served, which has no streams to limit"
_NO_AUDIT = "there is no audit log here; the API server's own records who asked through it"
_NO_QUEUE = "requests are bounded by the queries they cause, not counted here"
_NO_ETCD = "nothing is stored"
_KLOG = "logs go to standard error, one line each"
_BOOLEAN = "boolean"

# name -> (why it is ignored, whether it may stand without a value)
IGNORED: dict[str, tuple[str, str]] = {
    "audit-log-batch-buffer-size": (_NO_AUDIT, ""),
    "audit-log-batch-max-size": (_NO_AUDIT, ""),
    "audit-log-batch-max-wait": (_NO_AUDIT, ""),
    "audit-log-batch-throttle-burst": (_NO_AUDIT, ""),
    "audit-log-batch-throttle-enable": (_NO_AUDIT, _BOOLEAN),
    "audit-log-batch-throttle-qps": (_NO_AUDIT, ""),
    "audit-log-compress": (_NO_AUDIT, _BOOLEAN),
    "audit-log-format": (_NO_AUDIT, ""),
    "audit-log-maxage": (_NO_AUDIT, ""),
    "audit-log-maxbackup": (_NO_AUDIT, ""),
    "audit-log-maxsize": (_NO_AUDIT, ""),
    "audit-log-mode": (_NO_AUDIT, ""),
    "audit-log-path": (_NO_AUDIT, ""),
    "audit-log-truncate-enabled": (_NO_AUDIT, _BOOLEAN),
    "audit-log-truncate-max-batch-size": (_NO_AUDIT, ""),
    "audit-log-truncate-max-event-size": (_NO_AUDIT, ""),
    "audit-log-version": (_NO_AUDIT, ""),
    "audit-policy-file": (_NO_AUDIT, ""),
    "audit-webhook-batch-buffer-size": (_NO_AUDIT, ""),
    "audit-webhook-batch-max-size": (_NO_AUDIT, ""),
    "audit-webhook-batch-max-wait": (_NO_AUDIT, ""),
    "audit-webhook-batch-throttle-burst": (_NO_AUDIT, ""),
    "audit-webhook-batch-throttle-enable": (_NO_AUDIT, _BOOLEAN),
    "audit-webhook-batch-throttle-qps": (_NO_AUDIT, ""),
    "audit-webhook-config-file": (_NO_AUDIT, ""),
    "audit-webhook-initial-backoff": (_NO_AUDIT, ""),
    "audit-webhook-mode": (_NO_AUDIT, ""),
    "audit-webhook-truncate-enabled": (_NO_AUDIT, _BOOLEAN),
    "audit-webhook-truncate-max-batch-size": (_NO_AUDIT, ""),
    "audit-webhook-truncate-max-event-size": (_NO_AUDIT, ""),
    "audit-webhook-version": (_NO_AUDIT, ""),
    "contention-profiling": ("there is no Go runtime to profile", _BOOLEAN),
    "debug-socket-path": ("there is no Go runtime to profile", ""),
    "disable-http2": (_NO_HTTP2, _BOOLEAN),
    "enable-priority-and-fairness": (_NO_QUEUE, _BOOLEAN),
    "feature-gates": ("there are no feature gates", ""),
    "goaway-chance": (_NO_HTTP2, ""),
    "http2-max-streams-per-connection": (_NO_HTTP2, ""),
    "log-flush-frequency": (_KLOG, ""),
    "logging-format": (_KLOG, ""),
    "logtostderr": (_KLOG, _BOOLEAN),
    "alsologtostderr": (_KLOG, _BOOLEAN),
    "add-dir-header": (_KLOG, _BOOLEAN),
    "log-backtrace-at": (_KLOG, ""),
    "log-dir": (_KLOG, ""),
    "log-file": (_KLOG, ""),
    "log-file-max-size": (_KLOG, ""),
    "one-output": (_KLOG, _BOOLEAN),
    "skip-headers": (_KLOG, _BOOLEAN),
    "skip-log-headers": (_KLOG, _BOOLEAN),
    "stderrthreshold": (_KLOG, ""),
    "vmodule": (_KLOG, ""),
    "max-mutating-requests-inflight": (_NO_QUEUE, ""),
    "max-requests-inflight": (_NO_QUEUE, ""),
    "min-request-timeout": ("no request here is a watch", ""),
    "permit-address-sharing": (
        "the address is shared while a new process takes over anyway",
        _BOOLEAN,
    ),
    "profiling": ("there is no Go runtime to profile", _BOOLEAN),
    "storage-backend": (_NO_ETCD, ""),
    "tls-sni-cert-key": ("one certificate is served to every name; give it as --tls-cert-file", ""),
}


class RequestHeaderFlags(msgspec.Struct, frozen=True, kw_only=True):
    """How the front proxy (the API server's aggregator) names the user it speaks for."""

    client_ca_file: Path | None = None
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)


class ServingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the listener is told. `secure_port` 0 turns it off."""

    secure_port: int
    bind_address: str = "0.0.0.0"  # noqa: S104 - a server's purpose
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    cert_dir: Path | None = None
    tls_min_version: str = "VersionTLS12"
    tls_cipher_suites: tuple[str, ...] = ()
    permit_port_sharing: bool = False
    client_ca_file: Path | None = None
    requestheader: RequestHeaderFlags = RequestHeaderFlags()
    authentication_kubeconfig: Path | None = None
    authentication_skip_lookup: bool = False
    authentication_tolerate_lookup_failure: bool = False
    authentication_token_cache_seconds: float = 10.0
    authorization_kubeconfig: Path | None = None
    authorization_always_allow_paths: tuple[str, ...] = ALWAYS_ALLOWED
    authorization_allowed_cache_seconds: float = 10.0
    authorization_denied_cache_seconds: float = 10.0


def add_flags(parser: FlagParser, *, secure_port: int) -> None:
    """Declare the flags; `secure_port` is the program's default."""
    _add_listener(parser, secure_port)
    _add_authentication(parser)
    _add_authorization(parser)
    for name, (_, kind) in IGNORED.items():
        parser.add_argument(
            f"--{name}", type=boolean if kind else str, default=None, help=argparse.SUPPRESS
        )


def from_arguments(given: argparse.Namespace) -> ServingOptions:
    """The parsed flags as options; logs which of the flags given are ignored, and why."""
    for name, (why, _) in IGNORED.items():
        if getattr(given, name.replace("-", "_"), None) is not None:
            log.warning("--%s is ignored: %s", name, why)
    return ServingOptions(
        secure_port=given.secure_port,
        bind_address=given.bind_address,
        tls_cert_file=given.tls_cert_file,
        tls_private_key_file=given.tls_private_key_file,
        cert_dir=given.cert_dir,
        tls_min_version=given.tls_min_version,
        tls_cipher_suites=given.tls_cipher_suites,
        permit_port_sharing=given.permit_port_sharing,
        client_ca_file=given.client_ca_file,
        requestheader=RequestHeaderFlags(
            client_ca_file=given.requestheader_client_ca_file,
            allowed_names=given.requestheader_allowed_names,
            username_headers=given.requestheader_username_headers,
            uid_headers=given.requestheader_uid_headers,
            group_headers=given.requestheader_group_headers,
            extra_headers_prefix=given.requestheader_extra_headers_prefix,
        ),
        authentication_kubeconfig=given.authentication_kubeconfig,
        authentication_skip_lookup=given.authentication_skip_lookup,
        authentication_tolerate_lookup_failure=given.authentication_tolerate_lookup_failure,
        authentication_token_cache_seconds=given.authentication_token_webhook_cache_ttl,
        authorization_kubeconfig=given.authorization_kubeconfig,
        authorization_always_allow_paths=given.authorization_always_allow_paths,
        authorization_allowed_cache_seconds=given.authorization_webhook_cache_authorized_ttl,
        authorization_denied_cache_seconds=given.authorization_webhook_cache_unauthorized_ttl,
    )


def _file(text: str) -> Path | None:
    """An empty value is the flag not given, as Go's programs have it."""
    return Path(text) if text else None


def _add_listener(parser: FlagParser, secure_port: int) -> None:
    add = parser.add_argument
    add(
        "--secure-port",
        type=port,
        default=secure_port,
        help="port to serve HTTPS on; 0 turns it off",
    )
    add("--bind-address", default="0.0.0.0", help="address to listen on")  # noqa: S104
    add(
        "--tls-cert-file",
        type=_file,
        default=None,
        help="PEM certificate, intermediates after it; re-read when it changes",
    )
    add("--tls-private-key-file", type=_file, default=None, help="PEM key of --tls-cert-file")
    add(
        "--cert-dir",
        type=_file,
        default=None,
        help="where a self-signed pair is kept when no certificate is given; default: in memory",
    )
    add(
        "--tls-min-version",
        choices=TLS_VERSIONS,
        default="VersionTLS12",
        help="oldest TLS to accept",
    )
    add(
        "--tls-cipher-suites",
        action=CommaList,
        default=(),
        help="Go's names of the suites to accept below TLS 1.3; default: OpenSSL's",
    )
    parser.add_boolean(
        "--permit-port-sharing", help="let another process listen on the same port (SO_REUSEPORT)"
    )


def _add_authentication(parser: FlagParser) -> None:
    add = parser.add_argument
    defaults = RequestHeaderFlags()
    add(
        "--client-ca-file",
        type=_file,
        default=None,
        help="CA of client certificates; default: the cluster's, from kube-system/extension-apiserver-authentication",
    )
    add(
        "--requestheader-client-ca-file",
        type=_file,
        default=None,
        help="CA of the front proxy; default: the cluster's",
    )
    for name, default, text in (
        ("allowed-names", (), "common names the front proxy may have; none: any"),
        ("username-headers", defaults.username_headers, "headers with the user's name"),
        ("uid-headers", (), "headers with the user's UID"),
        ("group-headers", defaults.group_headers, "headers with the user's groups"),
        (
            "extra-headers-prefix",
            defaults.extra_headers_prefix,
            "beginnings of headers with further attributes",
        ),
    ):
        add(f"--requestheader-{name}", action=CommaList, default=default, help=text)
    add(
        "--authentication-kubeconfig",
        type=_file,
        default=None,
        help="for TokenReviews and the lookup of CAs; default: as the program's own",
    )
    parser.add_boolean("--authentication-skip-lookup", help="do not look CAs up in the cluster")
    parser.add_boolean(
        "--authentication-tolerate-lookup-failure",
        help="be ready although CAs could not be looked up",
    )
    add(
        "--authentication-token-webhook-cache-ttl",
        type=duration_seconds,
        default=10.0,
        help="how long a TokenReview holds",
    )


def _add_authorization(parser: FlagParser) -> None:
    add = parser.add_argument
    add(
        "--authorization-kubeconfig",
        type=_file,
        default=None,
        help="for SubjectAccessReviews; default: as the program's own",
    )
    add(
        "--authorization-always-allow-paths",
        action=CommaList,
        default=ALWAYS_ALLOWED,
        help="open to everybody; a * at the end stands for the rest",
    )
    add(
        "--authorization-webhook-cache-authorized-ttl",
        type=duration_seconds,
        default=10.0,
        help="how long a yes holds",
    )
    add(
        "--authorization-webhook-cache-unauthorized-ttl",
        type=duration_seconds,
        default=10.0,
        help="how long a no holds",
    )
