"""What `migrate` does: each rule becomes named metrics, compared on a Prometheus."""

from pathlib import Path

from adapter.config import Configuration
from adapter.diagnosis.rule_migration import MigratedRule, RuleMigration
from adapter.runtime.checking import backends_of, mapping_of
from adapter.runtime.server_settings import PrometheusSettings
from wire.kube.chosen_context import CURRENT, ChosenContext


async def migrated(
    file: Path,
    configuration: Configuration,
    *,
    prometheus: PrometheusSettings,
    kubeconfig: Path | None,
    context: ChosenContext = CURRENT,
    user_agent: str,
) -> tuple[MigratedRule, ...]:
    """One result for each rule of `rules` and `externalRules`.

    Raises what `checked` raises.
    """
    mapping = await mapping_of(kubeconfig, user_agent, context=context)
    backends = await backends_of(file, configuration, prometheus, user_agent)
    try:
        return await RuleMigration(backends, mapping).rules(configuration)
    finally:
        await backends.close()
