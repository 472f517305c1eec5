"""`loadline-adapter explain TARGET`: through the running adapter, or from this machine with `--config`."""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Final

import msgspec

from adapter.commands.explain_text import text_of
from adapter.commands.prometheus_flags import add_prometheus_flags, prometheus_settings
from adapter.config import ConfigError
from adapter.diagnosis.autoscaler_requests import Autoscaler, MetricPath, metric_paths, target_of
from adapter.diagnosis.explanation import Explanation, ExplanationList
from adapter.diagnosis.serving_service import unserved, with_serving_service
from adapter.runtime.explaining import local_explainer, running_explainer
from adapter.runtime.server_settings import PrometheusSettings
from wire.api.status import StatusError, Unavailable
from wire.kube.chosen_context import ChosenContext, add_context_flags, context_of
from wire.kube.client import KubeClient
from wire.kube.cluster_access import ConnectionConfigError
from wire.kube.connection import connect, kubectl_kubeconfig
from wire.kube.mapper import RestMapper
from wire.process.command_line.messages import print_error, printable
from wire.process.command_line.parsing import FlagParser
from wire.process.event_loop import run
from wire.serving.options import ServingConfigError

OK: Final = 0
MISSING: Final = 1
WRONG: Final = 2


class _Given(msgspec.Struct, frozen=True, kw_only=True):
    target: str
    output: str
    server: str
    ca_file: Path | None
    tls_server_name: str | None
    insecure_skip_tls_verify: bool
    kubeconfig: Path | None
    context: ChosenContext
    config: Path | None
    prometheus: PrometheusSettings


def main(arguments: Sequence[str]) -> int:
    """Print it. 0: every metric has a value, or another program serves it; 1: one has none, or it is not known; 2: flags or files are wrong."""
    given = _parsed(arguments)
    try:
        with _silence():
            metrics, explanations = run(_explained(given))
    except StatusError as error:
        print_error(f"loadline-adapter explain: {error.message}")
        return MISSING
    except Unavailable as error:
        print_error(f"loadline-adapter explain: {error.message}{_hint(given)}")
        return MISSING
    except ConnectionConfigError as error:
        print_error(f"loadline-adapter explain: {error}{_hint(given)}")
        return WRONG
    except (ConfigError, ServingConfigError, OSError) as error:
        print_error(f"loadline-adapter explain: {error}")
        return WRONG
    if given.output == "json":
        document = ExplanationList(target=given.target, explanations=explanations)
        print(msgspec.json.format(msgspec.json.encode(document), indent=2).decode())
    else:
        pairs = zip(metrics, explanations, strict=True)
        shown = (text_of(each.title, explanation, each.resource) for each, explanation in pairs)
        print(printable("\n\n".join(shown)))
    return OK if all(each.is_answered for each in explanations) else MISSING


def _hint(given: _Given) -> str:
    """For a user outside the cluster, unless the plugin itself runs this command."""
    if given.config or given.insecure_skip_tls_verify or given.tls_server_name:
        return ""
    target = target_of(given.target)
    words = f"{target.name} -n {target.namespace}" if isinstance(target, Autoscaler) else target
    return f"\nTo find and reach the adapter of the cluster: kubectl loadline explain {words}"


@contextlib.contextmanager
def _silence() -> Iterator[None]:
    """The log would repeat what the explanation says."""
    packages = [logging.getLogger(name) for name in ("adapter", "wire")]
    before = [each.level for each in packages]
    for each in packages:
        each.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        for each, level in zip(packages, before, strict=True):
            each.setLevel(level)


async def _explained(given: _Given) -> tuple[tuple[MetricPath, ...], tuple[Explanation, ...]]:
    target = target_of(given.target)
    async with contextlib.AsyncExitStack() as stack:
        metrics: tuple[MetricPath, ...] = (MetricPath("", given.target),)
        cluster: KubeClient | None = None
        if isinstance(target, Autoscaler):
            cluster = await stack.enter_async_context(_cluster(given.kubeconfig, given.context))
            mapper = RestMapper(cluster)
            await mapper.refresh()
            metrics = await metric_paths(target, cluster, mapper)
        if given.config:
            client = await stack.enter_async_context(_cluster(given.kubeconfig, given.context))
            explain_path: Callable[[str], Awaitable[Explanation]] = await stack.enter_async_context(
                local_explainer(given.config, given.prometheus, client, user_agent=_user_agent())
            )
        else:
            explain_path = await stack.enter_async_context(
                running_explainer(
                    given.server,
                    ca_file=given.ca_file,
                    server_name=given.tls_server_name,
                    insecure_skip_tls_verify=given.insecure_skip_tls_verify,
                    kubeconfig=given.kubeconfig,
                    context=given.context,
                    user_agent=_user_agent(),
                )
            )
        explanations = tuple([await explain_path(each.path) for each in metrics])
        if unserved(explanations):
            # A path alone is explained without a cluster, which may then not be reachable.
            with contextlib.suppress(ConnectionConfigError):
                if cluster is None:
                    of_file = _cluster(given.kubeconfig, given.context)
                    cluster = await stack.enter_async_context(of_file)
                explanations = await with_serving_service(
                    explanations, cluster, is_new_configuration=given.config is not None
                )
        return metrics, explanations


@contextlib.asynccontextmanager
async def _cluster(kubeconfig: Path | None, context: ChosenContext) -> AsyncIterator[KubeClient]:
    client = KubeClient(await connect(kubeconfig, context=context, user_agent=_user_agent()))
    try:
        yield client
    finally:
        await client.close()


def parser() -> FlagParser:
    """The flags of `explain`."""
    parser = FlagParser(
        prog="loadline-adapter explain",
        usage="%(prog)s [flags] TARGET",
        description="Explain how a value is computed, or where it failed and how to fix it. TARGET is a path of a "
        "metrics API (/apis/...), or an autoscaler (shop/web, hpa/shop/web, la/shop/web), whose metrics are all explained.",
        examples=[
            (
                "Every metric of an autoscaler, after `kubectl port-forward deploy/ADAPTER 6443`",
                "loadline-adapter explain shop/web --ca-file=adapter-ca.crt",
            ),
            (
                "One request, from a configuration file and a Prometheus, without a running adapter",
                "loadline-adapter explain --config=config.yaml --prometheus-url=http://localhost:9090 /apis/...",
            ),
        ],
        notes="Exit code 0: every metric has a value, or another program serves it, as metrics-server serves cpu. 1: one has none. 2: a flag or a file is wrong.",
    )
    parser.add_argument(
        "target", metavar="TARGET", help="path of a metrics API, or [hpa/|la/]NAMESPACE/NAME"
    )
    parser.add_output()
    parser.add_argument(
        "--server",
        default="https://127.0.0.1:6443",
        metavar="URL",
        help="URL of the running adapter",
    )
    parser.add_file(
        "--ca-file",
        help="file with the CA certificates to verify the adapter's certificate with; "
        "required unless explain runs in the adapter's pod",
    )
    parser.add_argument(
        "--tls-server-name",
        metavar="NAME",
        help="name for which the adapter's certificate must be valid (default: the host of --server)",
    )
    parser.add_boolean(
        "--insecure-skip-tls-verify",
        help="do not verify the adapter's certificate; credentials are then sent to whatever listens at --server",
    )
    parser.add_file("--kubeconfig", help="kubeconfig used to authenticate (default: as kubectl)")
    add_context_flags(parser)
    parser.add_file(
        "--config",
        help="use this configuration file and query Prometheus from here, without a running adapter",
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
        tls_server_name=given.tls_server_name,
        insecure_skip_tls_verify=given.insecure_skip_tls_verify,
        kubeconfig=given.kubeconfig or kubectl_kubeconfig(),
        context=context_of(given),
        config=given.config,
        prometheus=prometheus_settings(flags, given),
    )


def _user_agent() -> str:
    return f"loadline-adapter-explain/{version('loadline-autoscaler')}"
