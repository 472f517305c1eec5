"""The flags of how metrics are read: directly from the adapters behind the metrics APIs, streamed, and with a reaction to changes."""

import argparse
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import msgspec

from scaler.api.kinds import WatchedKind
from wire.process.command_line.parsing import FlagGroup, boolean

AUTO: Final = "auto"
NEVER: Final = "never"
ALWAYS: Final = "always"


class AdapterOptions(msgspec.Struct, frozen=True, kw_only=True):
    """Which adapters metrics are read from directly, with which credentials, and what else these are used for.

    `service`: only this Service, by namespace and name; None for every Service that an APIService of a metrics API names.
    `url`: where a scaler outside of the cluster finds it. `token_account`: the ServiceAccount, by namespace and name, with whose
    tokens metrics are read. `streams` and `reconciles_on_change`: `auto`, `never` or `always`.
    """

    service: tuple[str, str] | None = None
    url: str = ""
    token_file: Path | None = None
    token_account: tuple[str, str] | None = None
    streams: str = AUTO
    reconciles_on_change: str = AUTO

    def reacts(self, kind: WatchedKind) -> bool:
        """Whether a metric that has changed brings reconciles of this kind forward."""
        if self.streams == NEVER or self.reconciles_on_change == NEVER:
            return False
        return self.reconciles_on_change == ALWAYS or kind.reacts_to_changes


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


def choice(text: str) -> str:
    """`auto`, `never` or `always`; a boolean is one of the last two."""
    if text in (AUTO, NEVER, ALWAYS):
        return text
    try:
        return ALWAYS if boolean(text) else NEVER
    except argparse.ArgumentTypeError:
        raise argparse.ArgumentTypeError(f"{text!r} must be {AUTO}, {NEVER} or {ALWAYS}") from None


def add_adapter_flags(flags: FlagGroup) -> None:
    """Declare the flags."""
    flags.add_argument(
        "--adapter-connection",
        choices=(AUTO, NEVER),
        default=AUTO,
        metavar="WHEN",
        help="auto: read metrics directly from the Services that the APIServices of the metrics APIs name, if their certificates "
        "can be verified and they accept the scaler, otherwise through kube-apiserver. never: always through kube-apiserver",
    )
    flags.add_argument(
        "--adapter-service",
        type=namespaced_name,
        default=None,
        metavar="NAMESPACE/NAME",
        help="read metrics directly from this Service only (default: from every one)",
    )
    flags.add_argument(
        "--adapter-url",
        type=https_url,
        default=None,
        metavar="URL",
        help="URL of the Service for a scaler outside the cluster, which is verified as the Service (default: https://NAME.NAMESPACE.svc)",
    )
    flags.add_argument(
        "--adapter-token-service-account",
        type=namespaced_name,
        default=None,
        metavar="NAMESPACE/NAME",
        help="ServiceAccount that may read metrics and nothing else: the scaler requests tokens of it for direct connections, since "
        "its own token is not sent to adapters. Required unless there is a client certificate or --adapter-token-file",
    )
    flags.add_file(
        "--adapter-token-file",
        help="with --adapter-service: file with a token for this Service only, whose audience is NAME.NAMESPACE.svc; re-read when it changes",
    )
    _add_choice(
        flags,
        "--stream-metrics",
        help="let an adapter send custom and external metrics when they change, instead of requesting them in each reconcile. "
        "auto: if the adapter supports it. always: without checking first",
    )
    _add_choice(
        flags,
        "--reconcile-on-change",
        help="reconcile before the end of the period, at most once a second, if a change of a streamed metric would change the "
        "replica count. auto: only for LoadAutoscalers, not for HPAs",
    )


def _add_choice(flags: FlagGroup, name: str, *, help: str) -> None:  # noqa: A002 - argparse's word
    # Without a value, as these flags were booleans.
    flags.add_argument(
        name, type=choice, default=AUTO, nargs="?", const=ALWAYS, metavar="WHEN", help=help
    )


def adapter_options(flags: argparse.Namespace) -> AdapterOptions | None:
    """The parsed flags; None without direct connections. Raises `ValueError` when they contradict each other."""
    if flags.adapter_token_file and flags.adapter_service is None:
        raise ValueError(
            "--adapter-token-file requires --adapter-service: the token is valid for that Service only"
        )
    if flags.adapter_token_file and flags.adapter_token_service_account:
        raise ValueError("use one of --adapter-token-file and --adapter-token-service-account")
    if flags.adapter_connection == NEVER:
        _check_never(flags)
        return None
    if flags.reconcile_on_change == ALWAYS and flags.stream_metrics == NEVER:
        raise ValueError("--reconcile-on-change=always cannot be used with --stream-metrics=never")
    return AdapterOptions(
        service=flags.adapter_service,
        url=flags.adapter_url or "",
        token_file=flags.adapter_token_file,
        token_account=flags.adapter_token_service_account,
        streams=flags.stream_metrics,
        reconciles_on_change=flags.reconcile_on_change,
    )


def _check_never(flags: argparse.Namespace) -> None:
    given = {
        "--adapter-service": flags.adapter_service is not None,
        "--adapter-url": flags.adapter_url is not None,
        "--stream-metrics": flags.stream_metrics == ALWAYS,
        "--reconcile-on-change": flags.reconcile_on_change == ALWAYS,
    }
    for name, is_given in given.items():
        if is_given:
            raise ValueError(
                f"{name} requires a direct connection: remove --adapter-connection=never"
            )
