"""`kubectl loadline check [FILE...]`: the configuration of the running adapter, or files, tried on Prometheus."""

import contextlib
import sys
from argparse import Namespace
from collections.abc import Sequence
from pathlib import Path, PurePosixPath
from typing import Final
from urllib.parse import quote

import msgspec

from kubectl_loadline.cluster.adapter_program import cluster_arguments, run_adapter
from kubectl_loadline.cluster.connecting import Session, Unreachable, connected, ended
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.flags import (
    add_cluster_flags,
    add_program_flag,
    cluster_of,
)
from kubectl_loadline.cluster.programs import adapter_of
from kubectl_loadline.cluster.prometheus_url import add_prometheus_flag, prometheus_url
from kubectl_loadline.cluster.service_address import service_address
from kubectl_loadline.terminal.documents import add_output_flag
from kubectl_loadline.terminal.exit_codes import FAILED, FOUND, OK, WRONG
from kubectl_loadline.terminal.progress import ProgressLine
from kubectl_loadline.terminal.screen import print_note
from wire.api.status import StatusError, Unavailable
from wire.kube.client import decoded
from wire.kube.cluster_access import ConnectionConfigError
from wire.process.command_line.parsing import FlagParser

STDIN: Final = "-"
FAULTY: Final = 2
"""The exit code of `loadline-adapter check` for a configuration that is not usable; the flags are right, since this command sets them."""


class _ConfigMap(msgspec.Struct, frozen=True):
    data: dict[str, str] = {}


def main(arguments: Sequence[str]) -> int:
    """0: usable; 1: usable, but not everything could be checked; 2: a flag is wrong, or a file cannot be read; 3: not usable."""
    given = parser().parse_args(arguments)
    return ended("check", _check(given))


async def _check(given: Namespace) -> int:
    arguments = [*(given.files or ["-"]), *(["--strict"] if given.strict else [])]
    configuration = sys.stdin.buffer.read() if STDIN in given.files else None
    reads_all = all(_is_readable(each, configuration) for each in given.files)
    progress, is_tried = ProgressLine(), True
    async with contextlib.AsyncExitStack() as stack:
        try:
            session = await stack.enter_async_context(connected(cluster_of(given)))
            progress = session.progress
            if given.files:
                # Any response will do: the adapter's command would not check anything without one.
                with contextlib.suppress(StatusError):
                    await session.client.get("/version")
            else:
                running = await adapter_of(session, given.program)
                configuration = await _configuration(session, running)
            url = await stack.enter_async_context(
                prometheus_url(session, url=given.prometheus_url, adapter=given.program)
            )
            arguments += [f"--prometheus-url={url}", *cluster_arguments(cluster_of(given))]
        except (Unreachable, Unavailable, ConnectionConfigError) as error:
            if not given.files and configuration is None:
                raise
            is_tried = bool(given.prometheus_url) and service_address(given.prometheus_url) is None
            if is_tried:
                arguments.append(f"--prometheus-url={given.prometheus_url}")
                print_note("check", f"the resources of the cluster are unknown: {error}")
            else:
                print_note("check", f"rules are not tried on Prometheus: {error}")
        code = await run_adapter(
            "check", arguments, output=given.output, progress=progress, stdin=configuration
        )
    if code == OK and not is_tried:
        return FAILED
    return exit_code(code, reads_all=reads_all)


def exit_code(of_adapter: int, *, reads_all: bool) -> int:
    """That of the plugin for that of `loadline-adapter check`. `reads_all`: whether every file can be read."""
    if of_adapter != FAULTY:
        return of_adapter
    return FOUND if reads_all else WRONG


def _is_readable(file: str, stdin: bytes | None) -> bool:
    try:
        content = stdin if file == STDIN and stdin is not None else Path(file).read_bytes()
        content.decode()
    except (OSError, UnicodeDecodeError):
        return False
    return True


async def _configuration(session: Session, adapter: RunningProgram) -> bytes:
    """The ConfigMap that is mounted, with nothing but the file of `--config`: messages name both. Raises `Unreachable`."""
    file = PurePosixPath(adapter.argument("--config")).name
    for name in adapter.config_maps:
        path = f"/api/v1/namespaces/{adapter.namespace}/configmaps/{quote(name, safe='')}"
        try:
            found = decoded(await session.client.get(path), _ConfigMap, what="ConfigMap")
        except StatusError as error:
            raise Unreachable(
                f"cannot read the configuration of the {adapter}: {error.message}. You need permission to get configmaps "
                f"in the namespace {adapter.namespace}."
            ) from error
        if file in found.data:
            return msgspec.json.encode(
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"name": name, "namespace": adapter.namespace},
                    "data": {file: found.data[file]},
                }
            )
    raise Unreachable(
        f"the {adapter} does not mount a ConfigMap with its configuration {file or '(no flag --config)'}: name a FILE"
    )


def parser() -> FlagParser:
    """The flags of `check`."""
    parser = FlagParser(
        prog="kubectl loadline check",
        usage="%(prog)s [FILE...] [flags]",
        description="Validate the configuration of the running adapter, or files, and report what each rule yields "
        "in Prometheus, or why it yields nothing.",
        examples=[
            ("The configuration of the running adapter", "kubectl loadline check"),
            ("A file, before it is deployed", "kubectl loadline check values.yaml --strict"),
        ],
        notes="Required permissions: get apiservices, and list deployments and get services in the adapter's namespace; or, with "
        "--adapter, get that Deployment; get configmaps in the adapter's namespace; and for Prometheus get services, list and "
        "get pods, get and create pods/portforward in its namespace.\n\n"
        "Exit code 0: the configuration is valid. 1: it is valid, but Prometheus or the cluster could not be reached. "
        "2: a flag is wrong, or a file cannot be read. 3: the configuration is invalid or, with --strict, there is a warning.",
    )
    parser.add_argument(
        "files",
        nargs="*",
        metavar="FILE",
        help="files to check (default: the running configuration)",
    )
    parser.add_boolean(
        "--strict", help="exit with 3 on a warning too, such as a rule that yields nothing"
    )
    add_prometheus_flag(parser)
    add_cluster_flags(parser)
    add_output_flag(parser)
    add_program_flag(parser, "adapter")
    return parser
