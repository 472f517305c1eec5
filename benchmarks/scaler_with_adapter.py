"""The cost of a reconcile with the real adapter and Prometheus, by the way in which metrics are read, compared with kube-controller-manager.

Every autoscaler is on the External metric of its own selector; each target has three pods. As in `scaler_syncs`, every target must
reach the replicas for its metric and keep them. While the metrics are constant, every status of an HPA must be the one that
kube-controller-manager has written.
"""

from collections.abc import Iterator

from benchmarks.instruments.adapter_environment import AdapterEnvironment, adapter_environment
from benchmarks.instruments.bench_targets import LOAD_AUTOSCALER
from benchmarks.instruments.figures import Result, Round
from benchmarks.measurement_options import Options, Report
from benchmarks.scaler_sizes import PERIOD_SECONDS, case_of, shown
from benchmarks.scaler_syncs import LOADLINE, UPSTREAM, Environment

AUTOSCALERS = 500
SCRAPE_SECONDS = 1.0
WITHOUT_STREAM = "Loadline, without a stream"  # as with any other adapter
THROUGH = "Loadline, through kube-apiserver"
LOAD_AUTOSCALERS = "Loadline, LoadAutoscalers"
# Shorter than any program can keep.
MAXIMUM_RATE_PERIOD_SECONDS = 0.02
CASES = (
    (PERIOD_SECONDS, False),
    (MAXIMUM_RATE_PERIOD_SECONDS, False),
    (MAXIMUM_RATE_PERIOD_SECONDS, True),
)
# With more autoscalers than that, a round at the maximum rate takes as long as the period of 15 s.
MAXIMUM_RATE_AUTOSCALERS_MAX = 2_000


def run(options: Options, report: Report) -> Result:
    """Measure. Raises DeadlineExceeded or AssertionError for wrong replicas or a wrong status."""
    count = options.autoscalers or AUTOSCALERS
    rounds: list[Round] = []
    with adapter_environment(count, SCRAPE_SECONDS, with_pods=True) as found:
        report(f"logs: {found.bench.directory}; {count} autoscalers")
        found.bench.apply_crds()
        for each in _rounds(found, options):
            report(f"{each.case}: {each.program}: {shown(each.figures)}")
            rounds.append(each)
    return Result(
        benchmark="scaler_with_adapter",
        setting={"rounds": options.rounds, "pods": 3 * count},
        reference=UPSTREAM,
        rounds=tuple(rounds),
    )


def _rounds(found: AdapterEnvironment, options: Options) -> Iterator[Round]:
    targets = found.bench.targets
    # The defaults. They are written out so that the turn begins when they are in effect.
    default = (*found.scaler_flags, "--adapter-connection=auto", "--stream-metrics=auto")
    environment = Environment(
        found.bench,
        found.count,
        metrics_pid=found.adapter.process.process.pid,
        set_changing=lambda changing: found.load.reset(changing=changing),
        flags={
            LOADLINE: default,
            WITHOUT_STREAM: (*default, "--stream-metrics=never"),
            THROUGH: ("--adapter-connection=never",),
            LOAD_AUTOSCALERS: default,
        },
    )

    cases = CASES if found.count <= MAXIMUM_RATE_AUTOSCALERS_MAX else CASES[:1]

    def turns(*programs: str) -> Iterator[Round]:
        for period_seconds, changing in cases:
            seconds = max(options.seconds, 2 * period_seconds)
            case = case_of(found.count, "External", period_seconds, changing=changing)
            for number in range(options.rounds):
                expected: dict[int, object] = {}
                for name in programs:
                    if name not in (options.programs or programs):
                        continue
                    figures = environment.turn(name, period_seconds, seconds, changing=changing)
                    yield Round(case=case, program=name, number=number, figures=figures)
                    if not changing:
                        expected = expected or dict(targets.statuses())
                        assert targets.statuses() == expected, f"{name}: another status"

    yield from turns(UPSTREAM, LOADLINE, WITHOUT_STREAM, THROUGH)
    targets.replace_autoscalers(LOAD_AUTOSCALER)
    yield from turns(LOAD_AUTOSCALERS)
