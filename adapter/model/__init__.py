"""The adapter's data: requests, configuration, the results of Prometheus, and values.

Values only: nothing here does I/O or reads a clock. Values of which there are hundreds of thousands are not followed by the garbage
collector (`gc=False`), which would stop the program to check them; they hold no reference that leads back to them. The terms are those of Kubernetes (group-resource, namespace, label
selector) and Prometheus (series, sample, label, instant vector).

The stages of one request:

    request  (CustomMetricRequest | ExternalMetricRequest | ResourceMetricRequest)
      -> Offer       the rule that serves the metric, and the name of its series (from the catalog)
      -> MetricQuery a Plan, which may be evaluated once for many, and the Rows of it that answer this request
      -> Evaluation  what the backend of the plan returned
      -> values      (ObjectValue | ExternalValue | UsageValue), milli-units, ready to be rendered
"""

from adapter.model.configuration import (
    DEFAULT_BACKEND,
    Backend,
    BackendRef,
    DiscoveryRule,
    NamedRule,
    Reaction,
    ResourceLabels,
    ResourceRule,
    ResourceRules,
    Rule,
    SeriesFilter,
    SignalContract,
)
from adapter.model.freshness import Freshness
from adapter.model.offers import (
    Gap,
    ListedRule,
    MetricEntry,
    Offer,
    Series,
)
from adapter.model.queries import (
    FOR_AUTOSCALER,
    Ages,
    Lane,
    MetricQuery,
    Plan,
    Rows,
    Sending,
    UsageQuery,
    Wide,
    WideQuery,
)
from adapter.model.requests import (
    EVERY_OBJECT,
    CustomMetricRequest,
    ExternalMetricRequest,
    FieldTerm,
    MetricRequest,
    ResourceMetricRequest,
)
from adapter.model.resources import (
    NAMESPACES,
    NODES,
    PODS,
    GroupResource,
    GroupVersionKind,
    KubeObject,
    ResourceMapping,
    UnknownResource,
)
from adapter.model.results import (
    Cost,
    Evaluation,
    ResultKind,
    Sample,
)
from adapter.model.values import (
    ExternalValue,
    ObjectValue,
    Usage,
    UsageValue,
)

__all__ = [
    "DEFAULT_BACKEND",
    "EVERY_OBJECT",
    "FOR_AUTOSCALER",
    "NAMESPACES",
    "NODES",
    "PODS",
    "Ages",
    "Backend",
    "BackendRef",
    "Cost",
    "CustomMetricRequest",
    "DiscoveryRule",
    "Evaluation",
    "ExternalMetricRequest",
    "ExternalValue",
    "FieldTerm",
    "Freshness",
    "Gap",
    "GroupResource",
    "GroupVersionKind",
    "KubeObject",
    "Lane",
    "ListedRule",
    "MetricEntry",
    "MetricQuery",
    "MetricRequest",
    "NamedRule",
    "ObjectValue",
    "Offer",
    "Plan",
    "Reaction",
    "ResourceLabels",
    "ResourceMapping",
    "ResourceMetricRequest",
    "ResourceRule",
    "ResourceRules",
    "ResultKind",
    "Rows",
    "Rule",
    "Sample",
    "Sending",
    "Series",
    "SeriesFilter",
    "SignalContract",
    "UnknownResource",
    "Usage",
    "UsageQuery",
    "UsageValue",
    "Wide",
    "WideQuery",
]
