"""The flags of Kubernetes' generic API server that both programs share, by the same names.

A Deployment of another aggregated API server keeps its arguments: what has lost its meaning is
accepted, and a warning says that it is ignored and why (`IGNORED`).
"""

import argparse
from collections.abc import Collection, Mapping
from pathlib import Path

import msgspec

from wire.process.command_line.parsing import FlagGroup, FlagParser, boolean, optional_path, port

TLS_VERSIONS = ("VersionTLS10", "VersionTLS11", "VersionTLS12", "VersionTLS13")
DEFAULT_TLS_VERSION = "VersionTLS12"
CLUSTER_CONFIGURATION = "kube-system/extension-apiserver-authentication"
REVIEW_TTL_SECONDS = 10.0
ALWAYS_ALLOWED = ("/healthz", "/readyz", "/livez")

_NO_HTTP2 = "only HTTP/1.1 is served, which has no streams"
_NO_AUDIT = "there is no audit log; the API server's audit log records the requests that it proxies"
_NO_QUEUE = "requests are limited by the concurrency of queries to Prometheus"
_NO_ETCD = "nothing is stored"
_KLOG = "the log is written to standard error, one line per event"
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
    "audit-webhook-batch-initial-backoff": (_NO_AUDIT, ""),
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
    "min-request-timeout": ("watch requests are not served", ""),
    "permit-address-sharing": (
        "the address is always reused",
        _BOOLEAN,
    ),
    "profiling": ("there is no Go runtime to profile", _BOOLEAN),
    "storage-backend": (_NO_ETCD, ""),
    "tls-sni-cert-key": ("one certificate is served for every name: set --tls-cert-file", ""),
}


class ServingConfigError(Exception):
    """A serving flag cannot be used; the message names it and the fix."""


class RequestHeaderFlags(msgspec.Struct, frozen=True, kw_only=True):
    """How the front proxy (kube-apiserver's aggregator) passes on the user it authenticated."""

    client_ca_file: Path | None = None
    allowed_names: tuple[str, ...] = ()
    username_headers: tuple[str, ...] = ("x-remote-user",)
    uid_headers: tuple[str, ...] = ()
    group_headers: tuple[str, ...] = ("x-remote-group",)
    extra_headers_prefix: tuple[str, ...] = ("x-remote-extra-",)


class ServingOptions(msgspec.Struct, frozen=True, kw_only=True):
    """How to serve. `secure_port` 0 disables it; `ignored` says which given flags have no effect, and why."""

    secure_port: int
    ignored: tuple[str, ...] = ()
    bind_address: str = "0.0.0.0"  # noqa: S104 - a server's purpose
    tls_cert_file: Path | None = None
    tls_private_key_file: Path | None = None
    cert_dir: Path | None = None
    tls_min_version: str = DEFAULT_TLS_VERSION
    tls_cipher_suites: tuple[str, ...] = ()
    permit_port_sharing: bool = False
    client_ca_file: Path | None = None
    requestheader: RequestHeaderFlags = RequestHeaderFlags()
    authentication_kubeconfig: Path | None = None
    api_audiences: tuple[str, ...] = ()
    authentication_skip_lookup: bool = False
    authentication_tolerate_lookup_failure: bool = False
    authentication_token_cache_seconds: float = REVIEW_TTL_SECONDS
    authorization_kubeconfig: Path | None = None
    authorization_always_allow_paths: tuple[str, ...] = ALWAYS_ALLOWED
    authorization_allowed_cache_seconds: float = REVIEW_TTL_SECONDS
    authorization_denied_cache_seconds: float = REVIEW_TTL_SECONDS


def add_flags(
    parser: FlagParser, *, secure_port: int, except_ignored: Collection[str] = ()
) -> None:
    """Declare the flags; `secure_port` is the program's default, `except_ignored` names flags of
    `IGNORED` that the program declares itself because they mean something there.
    """
    _add_listener(parser.group("serving"), secure_port)
    _add_authentication(parser.group("authentication"))
    _add_authorization(parser.group("authorization"))
    for name, (_, kind) in IGNORED.items():
        if name not in except_ignored:
            parser.add_argument(
                f"--{name}", type=boolean if kind else str, default=None, help=argparse.SUPPRESS
            )


def ignored_flags(given: argparse.Namespace, ignored: Mapping[str, str]) -> tuple[str, ...]:
    """One sentence for each given flag of `ignored` (name to reason)."""
    return tuple(
        f"--{name} is ignored: {why}"
        for name, why in ignored.items()
        if getattr(given, name.replace("-", "_"), None) is not None
    )


def from_arguments(given: argparse.Namespace) -> ServingOptions:
    """The parsed flags as options."""
    return ServingOptions(
        ignored=ignored_flags(given, {name: why for name, (why, _) in IGNORED.items()}),
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
        api_audiences=given.api_audiences,
        authentication_skip_lookup=given.authentication_skip_lookup,
        authentication_tolerate_lookup_failure=given.authentication_tolerate_lookup_failure,
        authentication_token_cache_seconds=given.authentication_token_webhook_cache_ttl,
        authorization_kubeconfig=given.authorization_kubeconfig,
        authorization_always_allow_paths=given.authorization_always_allow_paths,
        authorization_allowed_cache_seconds=given.authorization_webhook_cache_authorized_ttl,
        authorization_denied_cache_seconds=given.authorization_webhook_cache_unauthorized_ttl,
    )


def _add_listener(flags: FlagGroup, secure_port: int) -> None:
    flags.add_argument(
        "--secure-port",
        type=port,
        default=secure_port,
        metavar="PORT",
        help="port for HTTPS; 0 disables serving",
    )
    flags.add_argument(
        "--bind-address",
        default="0.0.0.0",  # noqa: S104 - a server's purpose
        metavar="IP",
        help="IP address to listen on; 0.0.0.0 and :: are every address of IPv4 and IPv6",
    )
    flags.add_file(
        "--tls-cert-file",
        help="PEM certificate followed by its intermediates; reloaded when it changes",
    )
    flags.add_file("--tls-private-key-file", help="PEM private key for --tls-cert-file")
    flags.add_argument(
        "--cert-dir",
        type=optional_path,
        default=None,
        metavar="DIRECTORY",
        help="directory for a self-signed certificate, used without --tls-cert-file (default: kept in memory)",
    )
    flags.add_argument(
        "--tls-min-version",
        # Empty is the default, as in k8s.io/component-base.
        type=lambda text: text or DEFAULT_TLS_VERSION,
        choices=TLS_VERSIONS,
        default=DEFAULT_TLS_VERSION,
        metavar="VERSION",
        help=f"minimum TLS version: {', '.join(TLS_VERSIONS)}",
    )
    flags.add_list(
        "--tls-cipher-suites",
        help="cipher suites for TLS 1.2 and earlier, by their names in Go (default: those of OpenSSL)",
    )
    flags.add_boolean(
        "--permit-port-sharing",
        help="set SO_REUSEPORT, so that another process can listen on the same port",
    )


def _add_authentication(flags: FlagGroup) -> None:
    defaults = RequestHeaderFlags()
    flags.add_file(
        "--client-ca-file",
        help=f"CA bundle for client certificates (default: from ConfigMap {CLUSTER_CONFIGURATION})",
    )
    flags.add_file(
        "--requestheader-client-ca-file",
        help=f"CA bundle for the front proxy's certificate (default: from ConfigMap {CLUSTER_CONFIGURATION})",
    )
    for name, default, text in (
        (
            "allowed-names",
            (),
            "common names that the front proxy's certificate may have (default: any)",
        ),
        ("username-headers", defaults.username_headers, "headers that carry the user name"),
        ("uid-headers", (), "headers that carry the user's UID (default: none)"),
        ("group-headers", defaults.group_headers, "headers that carry the user's groups"),
        (
            "extra-headers-prefix",
            defaults.extra_headers_prefix,
            "prefixes of headers that carry extra user attributes",
        ),
    ):
        flags.add_list(f"--requestheader-{name}", default=default, help=text)
    flags.add_file(
        "--authentication-kubeconfig",
        help="kubeconfig for TokenReviews and the CA lookup (default: the program's own connection)",
    )
    flags.add_list(
        "--api-audiences",
        help="audiences of this server: service account tokens that were issued for one of them are accepted, in addition to "
        "those for the API server",
    )
    flags.add_boolean(
        "--authentication-skip-lookup",
        help=f"do not read CA bundles from ConfigMap {CLUSTER_CONFIGURATION}",
    )
    flags.add_boolean(
        "--authentication-tolerate-lookup-failure",
        help="be ready even if the CA bundles cannot be read from the cluster",
    )
    flags.add_duration(
        "--authentication-token-webhook-cache-ttl",
        default_seconds=REVIEW_TTL_SECONDS,
        help="TTL for cached TokenReview results",
    )


def _add_authorization(flags: FlagGroup) -> None:
    flags.add_file(
        "--authorization-kubeconfig",
        help="kubeconfig for SubjectAccessReviews (default: the program's own connection)",
    )
    flags.add_list(
        "--authorization-always-allow-paths",
        default=ALWAYS_ALLOWED,
        help="paths served without authorization; a trailing * matches any suffix",
    )
    flags.add_duration(
        "--authorization-webhook-cache-authorized-ttl",
        default_seconds=REVIEW_TTL_SECONDS,
        help='TTL for cached "authorized" decisions',
    )
    flags.add_duration(
        "--authorization-webhook-cache-unauthorized-ttl",
        default_seconds=REVIEW_TTL_SECONDS,
        help='TTL for cached "unauthorized" decisions',
    )
