"""What the scaler watches: the autoscalers, the pods, and the HPAs that LoadAutoscalers must yield to."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Sequence

from scaler.model.autoscaler import Autoscaler
from scaler.model.kinds import HORIZONTAL_POD_AUTOSCALERS, WatchedKind
from scaler.model.observed import Pod
from scaler.observe.autoscalers import WatchedAutoscalers
from scaler.observe.pods import WatchedPods
from scaler.observe.rivals import Selectors, Targets
from wire.kube.cache import OnChange, WatchCache
from wire.kube.requests import Watcher
from wire.serving.health import Check

# How long to wait for the HPAs, without which reconciles are possible.
HPAS_DEADLINE_SECONDS = 5.0

log = logging.getLogger(__name__)


class Watches:
    """The caches of one process, and the indexes that follow them."""

    def __init__(
        self,
        client: Watcher,
        kind: WatchedKind,
        namespaces: Sequence[str],
        *,
        on_change: OnChange[Autoscaler],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """`namespaces`: empty for all. `on_change` is called for every change of an autoscaler."""
        self._on_change = on_change
        self.selectors = Selectors()
        self.rivals = Targets()
        self._follow = self.rivals.follow(kind.kind)
        self.autoscalers = WatchedAutoscalers(
            client, kind, namespaces, on_change=self._changed, monotonic=monotonic
        )
        self.pods = WatchedPods(client, namespaces, monotonic=monotonic)
        self._hpas: list[WatchCache[Autoscaler]] = []
        if kind.shares_no_target:
            watched = WatchedAutoscalers(
                client,
                HORIZONTAL_POD_AUTOSCALERS,
                namespaces,
                on_change=self.rivals.follow(HORIZONTAL_POD_AUTOSCALERS.kind),
                monotonic=monotonic,
            )
            self._hpas = watched.caches

    @property
    def caches(self) -> tuple[WatchCache[Autoscaler] | WatchCache[Pod], ...]:
        """Every cache; each has a `run` that must be running."""
        return (*self.autoscalers.caches, *self.pods.caches, *self._hpas)

    async def synced(self) -> None:
        """Wait until every cache is complete; for HPAs that may not be listed, only a few seconds."""
        for autoscalers in self.autoscalers.caches:
            await autoscalers.synced()
        for pods in self.pods.caches:
            await pods.synced()
        for hpas in self._hpas:
            try:
                await asyncio.wait_for(hpas.synced(), HPAS_DEADLINE_SECONDS)
            except TimeoutError:
                log.warning(
                    "%s cannot be listed (%s): a target that an HPA scales too will not be detected",
                    hpas.path,
                    hpas.last_error,
                )

    def checks(self) -> tuple[Check, ...]:
        """The checks of /readyz."""
        return (
            Check("autoscalers", lambda: _not_synced(self.autoscalers.caches), public=True),
            Check("pods", lambda: _not_synced(self.pods.caches), public=True),
        )

    def _changed(self, old: Autoscaler | None, new: Autoscaler | None) -> None:
        if new is not None:
            self.selectors.appear(new.key)
        elif old is not None:
            self.selectors.disappear(old.key)
        self._follow(old, new)
        self._on_change(old, new)


def _not_synced(caches: Iterable[WatchCache[Autoscaler]] | Iterable[WatchCache[Pod]]) -> str:
    """What is missing before the first decision. A cache that is merely old does not fail readiness."""
    for cache in caches:
        if not cache.is_synced:
            reason = cache.last_error or "the first LIST is in progress"
            return f"{cache.path} has not been listed yet: {reason}"
    return ""
