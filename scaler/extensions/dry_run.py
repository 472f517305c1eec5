"""`spec.mode: DryRun`: decisions are reported and not carried out."""

from scaler.algorithm.draft import Draft
from scaler.algorithm.extension import Extension, Given
from scaler.algorithm.policy import Policy
from scaler.algorithm.remark import Remark
from scaler.api.autoscaler import ConditionType

DRY_RUN = Remark(
    condition=ConditionType.DRY_RUN,
    active=True,
    reason="DryRun",
    message="decisions are reported but not carried out, because spec.mode is DryRun",
)


class DryRun(Extension[bool, None]):
    """Its only rule is that it is on. The guard of the algorithm writes nothing then; here it is said."""

    name = "dryRun"
    conditions = (ConditionType.DRY_RUN,)

    def rules(self, given: Given, policy: Policy) -> bool | None:
        """None with `mode: Enforce`."""
        return policy.is_dry_run or None

    def final(self, rules: bool, draft: Draft) -> None:
        """Say so."""
        draft.add(DRY_RUN)
