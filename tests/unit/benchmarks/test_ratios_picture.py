"""The bars of the pictures in docs/benchmarks.md."""

import msgspec

from benchmarks.instruments.figures import Result, Round, document
from benchmarks.ratios_picture import Bar, bars


def test_bars_are_the_ratios_of_each_case_to_the_reference():
    rounds = tuple(
        Round(case=case, program=program, number=0, figures={"p50_ms": p50_ms, "rss_mib": 1.0})
        for case in ("Pods", "Object")
        for program, p50_ms in (("prometheus-adapter", 4.0), ("Loadline", 1.0))
    )
    result = Result(
        benchmark="adapter_requests", setting={}, reference="prometheus-adapter", rounds=rounds
    )
    (decoded,) = msgspec.json.decode(document([result]))
    assert bars(decoded) == [
        Bar("Pods, Loadline: p50 ms", 0.25),
        Bar("Pods, Loadline: rss mib", 1.0),
        Bar("Object, Loadline: p50 ms", 0.25),
        Bar("Object, Loadline: rss mib", 1.0),
    ]
