"""Which band around 1 counts as no change (upstream's `tolerancesForHpa`)."""

from scaler.model.autoscaler import AutoscalerSpec, ScalingRules
from scaler.model.derivation import Tolerances
from scaler.model.settings import Settings
from scaler.recommend.amounts import approximate


def tolerances_of(spec: AutoscalerSpec, settings: Settings) -> Tolerances:
    """The flag's tolerance, or the one that `behavior` gives to a direction."""
    behavior = spec.behavior
    if behavior is None or not settings.configurable_tolerance:
        return Tolerances(scale_down=settings.tolerance, scale_up=settings.tolerance)
    return Tolerances(
        scale_down=_tolerance(behavior.scale_down, settings),
        scale_up=_tolerance(behavior.scale_up, settings),
    )


def _tolerance(rules: ScalingRules | None, settings: Settings) -> float:
    if rules is None or rules.tolerance is None:
        return settings.tolerance
    return approximate(rules.tolerance)
