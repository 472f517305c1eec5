"""The extension that CONTRIBUTING.md adds as an example decides as its text says."""

import msgspec
import pytest

from scaler.algorithm.readings import ExternalValues
from scaler.algorithm.settings import Settings
from scaler.api.autoscaler import AutoscalerSpec
from scaler.api.kinds import LOAD_AUTOSCALERS
from scaler.extensions import EXTENSIONS
from tests.unit.scaler.objects import autoscaler, decided, observed, recommended, replaced, spec


class Spec(AutoscalerSpec, frozen=True, kw_only=True):
    """With the field of the recipe."""

    multiple_of: int | None = None


def multiple_of(number: int | None) -> Spec:
    of = msgspec.structs.asdict(spec(max_replicas=10))
    return Spec(**of, multiple_of=number)


@pytest.mark.parametrize(
    ("number", "replicas"),
    [
        pytest.param(None, 7, id="without the field"),
        pytest.param(4, 8, id="rounded up"),
        pytest.param(6, 6, id="rounded down at the maximum of 10"),
    ],
)
def test_the_extension_of_the_recipe_decides(number, replicas, documented_blocks):
    [module] = documented_blocks
    defined: dict = {"__name__": "recipe"}
    exec(module, defined)
    settings = Settings(kind=LOAD_AUTOSCALERS, extensions=(*EXTENSIONS, defined["MultipleOf"]()))
    seen = replaced(observed(spec(), replicas=5), autoscaler=autoscaler(multiple_of(number)))
    decision = decided(seen, (ExternalValues((70_000,)),), memory=recommended(), settings=settings)
    assert decision.desired_replicas == replicas
