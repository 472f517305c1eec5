"""What `check` does: the file is read, and each rule is tried on a Prometheus if there is one."""

from pathlib import Path

import msgspec

from adapter.config import ConfigError, Configuration
from adapter.config.sources import Source
from adapter.diagnosis.check_report import Problem, Report
from adapter.diagnosis.rule_check import RuleChecker
from adapter.fetch.builtin_resources import built_in_mapping
from adapter.fetch.cluster_mapping import ClusterMapping
from adapter.fetch.prometheus import Backends, PrometheusClient
from adapter.runtime.activation import backend_clients
from adapter.runtime.prometheus_identity import prometheus_credentials
from adapter.runtime.server_settings import PrometheusSettings
from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.client import KubeClient
from wire.kube.connection import connect
from wire.kube.mapper import RestMapper
from wire.prometheus.access import PrometheusURL


async def checked(
    source: Source,
    *,
    prometheus: PrometheusSettings | None,
    kubeconfig: Path | None,
    context: ChosenContext,
    strict: bool,
    user_agent: str,
) -> Report:
    """The report on a configuration.

    Raises `ConfigError` for a file that a backend names, what `prometheus_credentials` raises, and `StatusError` and
    `Unavailable` when the cluster's resources cannot be read.
    """
    configuration = source.configuration
    if configuration is None:
        error = source.error or ConfigError(source.name, ())
        return Report(
            file=source.name,
            ok=False,
            errors=tuple(Problem.of(each) for each in error.problems),
            warnings=tuple(Problem.of(each) for each in error.warnings),
        )
    report = Report(
        file=source.name,
        ok=True,
        rule_count=len(configuration.rules),
        warnings=tuple(Problem.of(each) for each in configuration.warnings),
    )
    if prometheus:
        mapping = await mapping_of(kubeconfig, user_agent, context=context)
        backends = await backends_of(Path(source.name), configuration, prometheus, user_agent)
        try:
            checker = RuleChecker(backends, mapping)
            report = msgspec.structs.replace(
                report,
                prometheus=PrometheusURL.of(prometheus.backend.url).base,
                resources="cluster" if kubeconfig else "built-in",
                rules=await checker.reports(configuration),
                overlaps=checker.overlaps(configuration),
            )
        finally:
            await backends.close()
    return msgspec.structs.replace(report, ok=not (strict and report.warned))


async def backends_of(
    file: Path, configuration: Configuration, prometheus: PrometheusSettings, user_agent: str
) -> Backends:
    """Clients of the backends of a configuration; the caller closes them."""
    credentials = await prometheus_credentials(prometheus, user_agent=user_agent)
    default = PrometheusClient(prometheus.backend, credentials)
    return Backends(backend_clients(configuration.backends, file=file, default=default, active={}))


async def mapping_of(
    kubeconfig: Path | None, user_agent: str, *, context: ChosenContext = CURRENT
) -> ClusterMapping:
    """The resources of a cluster, or without a kubeconfig those that are built in.

    Raises `StatusError`, `Unavailable` and `ConnectionConfigError`.
    """
    if kubeconfig is None:
        return built_in_mapping()
    client = KubeClient(await connect(kubeconfig, context=context, user_agent=user_agent))
    try:
        mapper = RestMapper(client)
        await mapper.refresh()
        return ClusterMapping(mapper)
    finally:
        await client.close()
