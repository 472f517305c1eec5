"""The two kinds of autoscaler, where the API server keeps them, and what differs between them.

A difference between the kinds is a field here. No other module asks which kind an object has.
"""

import msgspec

from wire.api.loadline import GROUP, VERSION


class WatchedKind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of autoscaler. The fields that are False for HPAs are what a LoadAutoscaler has on top."""

    group: str
    version: str
    plural: str
    kind: str
    short_name: str = "HPA"
    """What messages call one."""
    follows_server_version: bool = True
    """Whether it behaves as the HPA controller of the API server's version; otherwise as the newest one."""
    has_observed_generation: bool = False
    """Whether every status has `observedGeneration`; an HPA has it as the trait `keeps_generations` says."""
    explains_in_status: bool = False
    """Whether `status.decision` holds the last decision in words."""
    has_column_texts: bool = False
    """Whether the status holds the texts of the columns REFERENCE and TARGETS; kubectl computes them for an HPA."""
    keeps_history: bool = False
    """Whether `status.history` holds the memory, so that it survives a restart."""
    holds_while_failing: bool = False
    """Whether the last recommendation counts as repeated while metrics or target cannot be read; upstream forgets it."""
    shares_no_target: bool = False
    """Whether a target that another autoscaler of either kind names is refused; upstream compares selectors only."""
    ignores_succeeded_pods: bool = False
    """Whether pods that have succeeded do not count; upstream counts them until 1.37."""
    leaves_zero_by_any_policy: bool = False
    """Whether every scale-up policy allows the first replica; upstream's Percent policies allow any percentage of 0."""
    leaves_zero_for_min: bool = False
    """Whether `minReplicas` ends a zero of the controller where no metric can be read; upstream needs a metric."""
    knows_who_set_zero: bool = False
    """Whether a zero of the scaler is one also for the next autoscaler of the target, and only until the target is above zero;
    upstream goes by the last rescale of the same autoscaler."""
    stale_skips_max: int | None = None
    """How many reconciles in a row may wait for the watch to deliver the own status; upstream waits without end."""
    keeps_case: bool = False
    """Whether the name of an External metric is requested as it is written; upstream requests it in lower case."""
    has_calendars: bool = False
    """Whether a spec may refer to calendars, so that they are watched."""
    reports_changes_only: bool = False
    """Whether a failure that lasts is reported once; upstream emits its events at each reconcile."""
    reacts_to_changes: bool = False
    """Whether a streamed metric that changes the replica count brings the reconcile forward by default; upstream waits for the period."""
    metric_status_max_age_seconds: float = 0.0
    """How long the status may have a metric value that has moved a little since; the default of the flag."""
    metric_labels: tuple[str, ...] = ("namespace", "hpa_name")
    """The labels that name one object in the scaler's own metrics; those of an HPA are kube-controller-manager's."""

    @property
    def api_version(self) -> str:
        """`group/version`."""
        return f"{self.group}/{self.version}"

    def collection(self, namespace: str) -> str:
        """The path of the objects of a namespace; of all namespaces when it is empty."""
        inside = f"/namespaces/{namespace}" if namespace else ""
        return f"/apis/{self.api_version}{inside}/{self.plural}"

    def object(self, namespace: str, name: str) -> str:
        """The path of one object."""
        return f"{self.collection(namespace)}/{name}"


HORIZONTAL_POD_AUTOSCALERS = WatchedKind(
    group="autoscaling",
    version="v2",
    plural="horizontalpodautoscalers",
    kind="HorizontalPodAutoscaler",
)
LOAD_AUTOSCALERS = WatchedKind(
    group=GROUP,
    version=VERSION,
    plural="loadautoscalers",
    kind="LoadAutoscaler",
    short_name="LoadAutoscaler",
    follows_server_version=False,
    has_observed_generation=True,
    explains_in_status=True,
    has_column_texts=True,
    keeps_history=True,
    holds_while_failing=True,
    shares_no_target=True,
    ignores_succeeded_pods=True,
    leaves_zero_by_any_policy=True,
    leaves_zero_for_min=True,
    knows_who_set_zero=True,
    stale_skips_max=4,
    keeps_case=True,
    has_calendars=True,
    reports_changes_only=True,
    reacts_to_changes=True,
    metric_status_max_age_seconds=60.0,
    metric_labels=("namespace", "name", "kind"),
)
