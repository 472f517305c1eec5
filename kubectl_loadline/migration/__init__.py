"""HorizontalPodAutoscalers and KEDA's ScaledObjects to LoadAutoscalers. Pure: objects in, objects and remarks out."""

from kubectl_loadline.migration.adapter_names import AdapterNames
from kubectl_loadline.migration.comparison import Comparison, compare
from kubectl_loadline.migration.conversion import Converted, Remark, Unconvertible, name_of
from kubectl_loadline.migration.horizontal_pod_autoscaler import from_hpa
from kubectl_loadline.migration.scaled_object import from_scaled_object

__all__ = [
    "AdapterNames",
    "Comparison",
    "Converted",
    "Remark",
    "Unconvertible",
    "compare",
    "from_hpa",
    "from_scaled_object",
    "name_of",
]
