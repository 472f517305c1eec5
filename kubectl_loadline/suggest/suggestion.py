"""What is suggested, and from what."""

from collections.abc import Mapping
from typing import Any

import msgspec

from kubectl_loadline.suggest.search import Found
from kubectl_loadline.suggest.series_choice import Judged


class Suggestion(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The document of `-o json`: the series that were considered, what was tried, the manifest and the rules.

    `start_up_assumed`: whether the start-up time was neither given nor recorded.
    """

    series: tuple[Judged, ...]
    full: Mapping[str, float]
    short_percent_max: float
    start_up_seconds: float
    start_up_assumed: bool = False
    found: Found
    load_autoscaler: Mapping[str, Any]
    rules: Mapping[str, Any]
    sources: Mapping[str, str]
    schema: str = "loadline.io/suggestion/v1"
