"""`loadline-adapter explain TARGET`: from the running adapter's own port, or from here with `--config`."""

import contextlib
import logging
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from adapter.commands.explain.local import local_explainer
from adapter.commands.explain.targets import Asked, Autoscaler, questions, target_of
from adapter.commands.explain.text import text_of
from adapter.commands.flags import PrometheusFlags, add_prometheus_flags, prometheus_flags
from adapter.config import ConfigError
from adapter.serve.explain import EXPLAIN
from adapter.translate.explanation import Explanation
from wire.command_line.parsing import FlagParser
from wire.kube.client import KubeClient
from wire.kube.connection import ConnectionConfigError, connect, connect_to
from wire.kube.mapper import RestMapper
from wire.serving.event_loop import run
from wire.serving.tls import ServingConfigError
from wire.status import StatusError, Unavailable

OK: Final = 0
MISSING: Final = 1
WRONG: Final = 2

SCHEMA: Final = "loadline.io/explanations/v1"

Explain = Callable[[str], Awaitable[Explanation]]


class Told(msgspec.Struct, frozen=True, kw_only=True):
    """The document of `--output json`: one explanation for a path, one per metric for an autoscaler."""

    target: str
    explanations: tuple[Explanation, ...]
    schema: str = SCHEMA


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    target: str
    output: str
    server: str
    ca_file: Path | None
    kubeconfig: Path | None
    config: Path | None
    prometheus: PrometheusFlags


def main(arguments: Sequence[str]) -> int:
    """Print it; 0: there is a value, 1: there is none or it cannot be told, 2: the command line is wrong."""
    given = _parsed(arguments)
    try:
        with _silence():
            asked, explanations = run(_explained(given))
    except (StatusError, Unavailable) as error:
        print(f"loadline-adapter explain: {error.message}", file=sys.stderr)
        return MISSING
    except (ConfigError, ConnectionConfigError, ServingConfigError, OSError) as error:
        print(f"loadline-adapter explain: {error}", file=sys.stderr)
        return WRONG
    if given.output == "json":
        told = Told(target=given.target, explanations=explanations)
        print(msgspec.json.format(msgspec.json.encode(told), indent=2).decode())
    else:
        pairs = zip(asked, explanations, strict=True)
        print("\n\n".join(text_of(each.title, told) for each, told in pairs))
    return OK if all(each.value_count for each in explanations) else MISSING


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """The log would say a second time what the explanation says."""
    ours = [logging.getLogger(name) for name in ("adapter", "wire")]
    before = [each.level for each in ours]
    for each in ours:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(ours, before, strict=True):
            each.setLevel(level)


async def _explained(given: _Given) -> tuple[tuple[Asked, ...], tuple[Explanation, ...]]:
    target = target_of(given.target)
    async with contextlib.AsyncExitStack() as stack:
        client = mapper = None
        if given.config or isinstance(target, Autoscaler):
            client, mapper = await stack.enter_async_context(_cluster(given.kubeconfig))
        asked: tuple[Asked, ...] = (Asked("", given.target),)
        if isinstance(target, Autoscaler) and client and mapper:
            asked = await questions(target, client, mapper)
        if given.config and client and mapper:
            explainer = await stack.enter_async_context(
                local_explainer(
                    given.config, given.prometheus, client, mapper, user_agent=_user_agent()
                )
            )
            one: Explain = explainer.explain
        else:
            one = await stack.enter_async_context(_running(given))
        return asked, tuple([await one(each.path) for each in asked])


@contextlib.asynccontextmanager
async def _cluster(kubeconfig: Path | None) -> AsyncIterator[tuple[KubeClient, RestMapper]]:
    client = KubeClient(await connect(kubeconfig, user_agent=_user_agent()))
    try:
        mapper = RestMapper(client)
        await mapper.refresh()
        yield client, mapper
    finally:
        await client.close()


@contextlib.asynccontextmanager
async def _running(given: _Given) -> AsyncIterator[Explain]:
    """The running adapter explains, so that nobody else needs access to Prometheus."""
    client = KubeClient(
        await connect_to(
            given.server,
            ca_file=given.ca_file,
            kubeconfig=given.kubeconfig,
            user_agent=_user_agent(),
        )
    )

    async def ask(path: str) -> Explanation:
        return msgspec.json.decode(await client.get(EXPLAIN, {"path": path}), type=Explanation)

    try:
        yield ask
    finally:
        await client.close()


def parser() -> FlagParser:
    """The flags of `explain`."""
    parser = FlagParser(
        prog="loadline-adapter explain",
        description="Explain step by step how a value is computed, or where it failed and how to fix it. TARGET is a path "
        "of a metrics API, or an autoscaler (shop/web, hpa/shop/web, la/shop/web), whose metrics are all explained.",
        examples=[
            (
                "Every metric of an autoscaler, after `kubectl port-forward deploy/ADAPTER 6443`",
                "loadline-adapter explain shop/web",
            ),
            (
                "One request, from a configuration file and a Prometheus, without a running adapter",
                "loadline-adapter explain --config=config.yaml --prometheus-url=http://localhost:9090 /apis/...",
            ),
        ],
        notes="Exit code 0: every metric has a value. 1: one has none. 2: a flag or a file is wrong.",
    )
    add = parser.add_argument
    add("target", metavar="TARGET")
    add("--output", choices=("text", "json"), default="text")
    add(
        "--server",
        default="https://127.0.0.1:6443",
        metavar="URL",
        help="the running adapter (%(default)s)",
    )
    add("--ca-file", type=Path, metavar="FILE", help="CA of its certificate, where it is not local")
    add("--kubeconfig", type=Path, metavar="FILE", help="who asks; default: as kubectl")
    add(
        "--config",
        type=Path,
        metavar="FILE",
        help="explain from here by this configuration, without a running adapter",
    )
    add_prometheus_flags(parser)
    return parser


def _parsed(arguments: Sequence[str]) -> _Given:
    flags = parser()
    given = flags.parse_args(arguments)
    try:
        target_of(given.target)
    except ValueError as error:
        flags.error(str(error))
    return _Given(
        target=given.target,
        output=given.output,
        server=given.server,
        ca_file=given.ca_file,
        kubeconfig=given.kubeconfig,
        config=given.config,
        prometheus=prometheus_flags(flags, given),
    )


def _user_agent() -> str:
    return f"loadline-adapter-explain/{version('loadline-autoscaler')}"
