"""The pods of a target, which of them it owns, and which autoscalers control them."""

from typing import Final

from scaler.algorithm.observed import Pod, ScaleUnavailable, TargetPods
from scaler.algorithm.owners import INPUT, Owners, owned, selects_owned
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.target_scale import TargetScale
from scaler.control.dependencies import Dependencies
from wire.api.labels import Selector

OWNED_AT_ONCE_MAX: Final = 1_000
"""Of more pods, the owners are found with pauses. That is 10 ms for so many, if the chains are long."""


class CurrentPods:
    """By the selector of the target."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._with = dependencies

    async def current(
        self, autoscaler: Autoscaler, target: TargetScale | ScaleUnavailable, selector: Selector
    ) -> TargetPods:
        """Like `now`, after a moment for what is not known of their owners, in which pods may change. Others have their turn in it."""
        if self._with.owners is None or not selects_owned(autoscaler.spec):
            return self.now(autoscaler, target, selector)
        pods = self._with.pods.matching(autoscaler.metadata.namespace, selector)
        owners = await self._with.owners.listed(autoscaler, _uid(target), pods)
        return self._owned_pods(autoscaler, selector, pods, owners)

    def now(
        self, autoscaler: Autoscaler, target: TargetScale | ScaleUnavailable, selector: Selector
    ) -> TargetPods:
        """As the watches show them."""
        pods = self._with.pods.matching(autoscaler.metadata.namespace, selector)
        if self._with.owners is not None and selects_owned(autoscaler.spec):
            owners = self._with.owners.of(autoscaler, _uid(target), pods)
            return self._owned_pods(autoscaler, selector, pods, owners)
        controllers = self._controllers(autoscaler, selector, pods)
        return TargetPods(pods=pods, controlled_by=controllers)

    def _owned_pods(
        self, autoscaler: Autoscaler, selector: Selector, pods: tuple[Pod, ...], owners: Owners
    ) -> TargetPods:
        counted = owned(pods, owners)
        controllers = self._controllers(autoscaler, selector, counted, owned_for=autoscaler.key)
        return TargetPods(pods=pods, controlled_by=controllers, inputs={INPUT: owners})

    def _controllers(
        self,
        autoscaler: Autoscaler,
        selector: Selector,
        pods: tuple[Pod, ...],
        *,
        owned_for: str = "",
    ) -> tuple[str, ...]:
        if autoscaler.is_dry_run:
            return ()
        namespace = autoscaler.metadata.namespace
        return self._with.selectors.controllers_of(namespace, selector, pods, owned_for=owned_for)


def _uid(target: TargetScale | ScaleUnavailable) -> str:
    return target.uid if isinstance(target, TargetScale) else ""
