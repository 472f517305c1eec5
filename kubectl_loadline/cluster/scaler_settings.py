"""The settings of the algorithm that the running scaler has: its flags, and the version of the API server that it follows."""

import argparse

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.programs import ScaledByKubernetes, scaler_of
from scaler.algorithm.settings import Settings
from scaler.api.kinds import WatchedKind
from scaler.cluster.server_version import settings_of_server
from scaler.runtime.flags import add_algorithm_flags, settings_of
from wire.kube.requests import Reader
from wire.process.command_line.parsing import FlagParser


class UnknownFlags(ValueError):
    """The algorithm flags of the running scaler cannot be read, such as one whose value only its pods know."""


async def settings_for(
    session: Session, kind: WatchedKind, namespace: str, named: str
) -> tuple[Settings, str | None]:
    """The algorithm flags of the running scaler; the defaults, and why, if it cannot be found or its flags cannot be read.

    Raises `StatusError`, `Unavailable` and ValueError if the version of the API server cannot be read.
    """
    try:
        scaler = await scaler_of(session, kind, namespace, named)
    except ScaledByKubernetes:
        problem = "kube-controller-manager scales this HPA"
        return await settings_in_cluster(session.client, None, kind), problem
    except Unreachable as error:
        problem = str(error).rstrip(".")
        return await settings_in_cluster(session.client, None, kind), problem
    try:
        return await settings_in_cluster(session.client, scaler, kind), None
    except UnknownFlags as error:
        return await settings_in_cluster(session.client, None, kind), str(error)


async def settings_in_cluster(
    kube: Reader, scaler: RunningProgram | None, kind: WatchedKind
) -> Settings:
    """The algorithm flags of a running scaler, the defaults without one, and the version that it reads of the API server.

    Raises `StatusError`, `Unavailable` and ValueError if that version cannot be read, and `UnknownFlags`.
    """
    settings = _settings_of_program(scaler, kind)
    version = scaler.argument("--kubernetes-version") if scaler is not None else ""
    if version or not kind.follows_server_version:
        return settings
    return await settings_of_server(kube, settings)


def _settings_of_program(scaler: RunningProgram | None, kind: WatchedKind) -> Settings:
    """The algorithm flags of a running scaler; the defaults without one."""
    flags = FlagParser(prog="loadline-scaler", exit_on_error=False)
    add_algorithm_flags(flags.group("algorithm"))
    arguments = scaler.arguments if scaler is not None else ()
    known = [
        each for each in arguments if flags.declares(each.partition("=")[0].removeprefix("--"))
    ]
    try:
        return settings_of(flags.parse_args(known), kind)
    except argparse.ArgumentError as error:
        raise UnknownFlags(f"the flags of the {scaler} cannot be read here: {error}") from error
