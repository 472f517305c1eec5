"""The objects that are missing in a list because their value cannot be used: counted, and named in the log."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from cachetools import TTLCache

from adapter import telemetry
from adapter.model import CustomMetricRequest, MetricQuery

REPORTED_EVERY_SECONDS: Final = 600.0
"""A pod with an infinite value is requested every 15 s, possibly for days."""
REPORTED_MAX: Final = 4_096

log = logging.getLogger(__name__)


class LeftOutObjects:
    """Logs the first object of each metric and namespace, once per `REPORTED_EVERY_SECONDS`."""

    def __init__(self, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._reported: TTLCache[tuple[str, str, str], None] = TTLCache(
            REPORTED_MAX, REPORTED_EVERY_SECONDS, timer=monotonic
        )

    def report(
        self,
        request: CustomMetricRequest,
        query: MetricQuery,
        left_out: Sequence[tuple[str, str]],
    ) -> None:
        """`left_out`: names and sentences, at least one."""
        telemetry.count_left_out(request.metric, len(left_out))
        key = (query.rule, request.namespace, request.metric)
        if key in self._reported:
            return
        self._reported[key] = None
        name, sentence = left_out[0]
        log.warning(
            "%s: the list of %s for %s in namespace %r does not have %r%s: %s",
            query.rule,
            request.metric,
            request.resource,
            request.namespace,
            name,
            f" and {len(left_out) - 1} more" if len(left_out) > 1 else "",
            sentence,
        )
