"""Planted faults that must be found also under the kinds of faults that a flag adds: these excuse no more than they cause."""

from collections.abc import Callable

from tests.simulation.decision_tampering import (
    AddsOneReplica,
    AnswersFromACache,
    SwallowsScaleWrites,
)
from tests.simulation.tampering import BudgetsRenew, Tamper


class AddsOneReplicaBesideRestores(AddsOneReplica):
    """While etcd is restored from backups."""

    added = ("restores",)


class SwallowsScaleWritesBehindABalancer(SwallowsScaleWrites):
    """While one of two API servers is behind."""

    added = ("balancer",)


class BudgetsRenewBesideSchemas(BudgetsRenew):
    """While the CRD is deleted, or its schema does not have each field."""

    added = ("schemas",)


class AnswersFromACacheBesideLostSamples(AnswersFromACache):
    """While samples are lost, and counters are reset."""

    added = ("samples",)


PLANTED_WITH_ADDED_FAULTS: tuple[Callable[[], Tamper], ...] = (
    AddsOneReplicaBesideRestores, SwallowsScaleWritesBehindABalancer, BudgetsRenewBesideSchemas,
    AnswersFromACacheBesideLostSamples,
)  # fmt: skip
