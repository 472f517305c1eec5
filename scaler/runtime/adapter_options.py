"""The flags of the direct connection to loadline-adapter."""

import argparse
from pathlib import Path
from urllib.parse import urlsplit

import msgspec

from wire.process.command_line.parsing import FlagGroup


class AdapterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The Service of loadline-adapter (namespace and name), and its URL for a scaler outside the cluster.

    `streams`: the adapter sends metrics that have changed. `reconciles_on_change`: they bring reconciles forward.
    """

    service: tuple[str, str]
    url: str = ""
    token_file: Path | None = None
    streams: bool = False
    reconciles_on_change: bool = False

    @property
    def host(self) -> str:
        """The name for which the adapter's certificate is valid, and the audience of tokens for it."""
        namespace, name = self.service
        return f"{name}.{namespace}.svc"


def namespaced_name(text: str) -> tuple[str, str]:
    """`NAMESPACE/NAME`."""
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAMESPACE/NAME")
    return namespace, name


def https_url(text: str) -> str:
    """A URL with a host, without the slash at its end."""
    if not text.startswith("https://") or not urlsplit(text).hostname:
        raise argparse.ArgumentTypeError(f"{text!r} is not a URL such as https://localhost:6443")
    return text.rstrip("/")


def add_adapter_flags(flags: FlagGroup) -> None:
    """Declare the flags."""
    flags.add_argument(
        "--adapter-service",
        type=namespaced_name,
        default=None,
        metavar="NAMESPACE/NAME",
        help="Service of loadline-adapter: read metrics directly from it, not through kube-apiserver, for the "
        "API groups that it serves (default: always through kube-apiserver)",
    )
    flags.add_argument(
        "--adapter-url",
        type=https_url,
        default=None,
        metavar="URL",
        help="URL of this Service for a scaler outside the cluster (default: https://NAME.NAMESPACE.svc)",
    )
    flags.add_file(
        "--adapter-token-file",
        help="file with a token for the adapter only, whose audience is NAME.NAMESPACE.svc; re-read when it changes. Required "
        "unless the scaler has a client certificate, since its own token is not sent to the adapter",
    )
    flags.add_boolean(
        "--stream-metrics",
        help="let the adapter send custom and external metrics when they change, instead of requesting them in each reconcile",
    )
    flags.add_boolean(
        "--reconcile-on-change",
        help="reconcile before the end of the period, at most once a second, if a metric has changed so that the replica count would",
    )


def adapter_options(flags: argparse.Namespace) -> AdapterOptions | None:
    """The parsed flags; None without a direct connection. Raises `ValueError` when they contradict each other."""
    given = {
        "--adapter-url": flags.adapter_url,
        "--adapter-token-file": flags.adapter_token_file,
        "--stream-metrics": flags.stream_metrics,
        "--reconcile-on-change": flags.reconcile_on_change,
    }
    for name, value in given.items():
        if value and flags.adapter_service is None:
            raise ValueError(f"{name} requires --adapter-service")
    if flags.reconcile_on_change and not flags.stream_metrics:
        raise ValueError("--reconcile-on-change requires --stream-metrics")
    if flags.adapter_service is None:
        return None
    return AdapterOptions(
        service=flags.adapter_service,
        url=flags.adapter_url or "",
        token_file=flags.adapter_token_file,
        streams=flags.stream_metrics,
        reconciles_on_change=flags.reconcile_on_change,
    )
