"""The whole comparison: start both with a configuration, ask both, look at each pair of answers, count."""

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from testbed.cluster import Cluster
from testbed.differential.adapter import comparison, questions, sides, world
from testbed.differential.adapter.frozen import FrozenPrometheus
from testbed.differential.adapter.questions import Offer, Question, Questions
from testbed.differential.adapter.sides import Answer, Side
from testbed.prometheus import PrometheusServer
from testbed.waiting import until

CONFIGURATIONS = Path(__file__).with_name("configurations")
CHART_RULES = Path(__file__).parents[3] / "charts" / "adapter" / "files" / "default-rules.yaml"
WEIGHTS = {
    "chart_defaults": 4,
    "walkthrough": 3,
    "external": 3,
    "resource_rules": 2,
    "naming": 3,
    "templates": 5,
}
"""What share of the questions each configuration is asked."""

SAMPLES_WANTED = 8  # of each series before the frozen moment, for rates
Explain = Callable[[Question, comparison.Seen, comparison.Seen, Sequence[str]], str | None]


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was answered differently."""

    configuration: str
    question: Question
    theirs: Answer
    ours: Answer
    differences: tuple[str, ...]
    deviation: str | None  # the row of docs/deviations.md it is, None: nobody meant it
    queries: tuple[tuple[str, ...], tuple[str, ...]]  # that the peer and we sent to Prometheus


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration."""

    configuration: str
    asked: int
    statuses: Mapping[str, int]
    categories: Mapping[str, int]
    different: tuple[Pair, ...]

    @property
    def unexplained(self) -> list[Pair]:
        """Nobody meant these."""
        return [pair for pair in self.different if pair.deviation is None]


def configuration_file(name: str, directory: Path) -> Path:
    """The file that both programs read."""
    if name != "chart_defaults":
        return CONFIGURATIONS / f"{name}.yaml"
    path = directory / "chart_defaults.yaml"
    path.write_text("rules:\n" + CHART_RULES.read_text())
    return path


def frozen_moment(prometheus: PrometheusServer) -> float:
    """A moment before which everything was scraped often enough, and after which time has gone on."""
    series = max(name for name, _, _ in world.counters())
    prometheus.wait_for(f"min(count_over_time({series}[10m])) >= {SAMPLES_WANTED}")
    moment = round(time.time(), 3)
    until(
        lambda: [v for v in prometheus.query("min(timestamp(up))") if v.value > moment],
        what="a scrape after the frozen moment",
    )
    return moment


class Comparison(msgspec.Struct, kw_only=True):
    """Everything that the configurations share."""

    cluster: Cluster
    prometheus: PrometheusServer
    at_unix_seconds: float
    directory: Path
    seed: int
    explain: Explain
    against: Literal["ours", "peer"] = "ours"

    def run(self, name: str, count: int) -> Outcome:
        """Ask `count` questions under one configuration, and every discovery document."""
        path = configuration_file(name, self.directory)
        with ExitStack() as undo:
            frozen = [undo.enter_context(self._frozen()) for _ in range(2)]
            pool = undo.enter_context(ThreadPoolExecutor(2))
            starting = [
                pool.submit(self._start, side, path, proxy)
                for side, proxy in zip((sides.PEER, self.against), frozen, strict=True)
            ]
            theirs, ours = (undo.enter_context(each.result()) for each in starting)
            until(lambda: _is_complete(discovered(theirs), path), what="the metrics of the peer")
            offer = discovered(theirs)
            until(lambda: _knows(ours, offer), what="the metrics of our adapter")
            asked = list(Questions(offer, seed=f"{self.seed} {name}").some(count))
            pairs = [self._ask(name, question, pool, (theirs, ours), frozen) for question in asked]
        statuses = Counter(str(status) for status, _ in pairs)
        return Outcome(
            configuration=name,
            asked=len(asked),
            statuses=dict(sorted(statuses.items())),
            categories=dict(sorted(Counter(q.category for q in asked).items())),
            different=tuple(pair for _, pair in pairs if pair is not None),
        )

    def _frozen(self) -> FrozenPrometheus:
        return FrozenPrometheus(self.prometheus.port, at_unix_seconds=self.at_unix_seconds)

    def _start(self, side: Any, path: Path, proxy: FrozenPrometheus) -> Side:
        return sides.start_side(
            side,
            cluster=self.cluster,
            configuration=path,
            prometheus_url=proxy.url,
            directory=self.directory,
        )

    def _ask(
        self,
        name: str,
        question: Question,
        pool: ThreadPoolExecutor,
        both: tuple[Side, Side],
        frozen: Sequence[FrozenPrometheus],
    ) -> tuple[int, Pair | None]:
        before = [len(proxy.queries) for proxy in frozen]
        answers = [pool.submit(side.ask, question) for side in both]
        theirs, ours = (each.result() for each in answers)
        now = time.time()
        left, right = (
            comparison.seen(theirs, now_seconds=now),
            comparison.seen(ours, now_seconds=now),
        )
        found = comparison.differences(left, right)
        if not found:
            return theirs.status, None
        sent = [tuple(p.queries[start:]) for p, start in zip(frozen, before, strict=True)]
        pair = Pair(
            configuration=name,
            question=question,
            theirs=theirs,
            ours=ours,
            differences=tuple(found),
            deviation=self.explain(question, left, right, found),
            queries=(sent[0], sent[1]),
        )
        return theirs.status, pair


def discovered(side: Side) -> Offer:
    """What the discovery documents list, sorted."""
    custom = _resources(side, f"/apis/{questions.CUSTOM}/v1beta1")
    external = _resources(side, f"/apis/{questions.EXTERNAL}/v1beta1")
    return Offer(
        custom=tuple(sorted((r["name"], r["namespaced"]) for r in custom)),
        external=tuple(sorted(r["name"] for r in external)),
        usage=bool(_resources(side, f"/apis/{questions.USAGE}/v1beta1")),
    )


def _is_complete(offer: Offer, configuration: Path) -> bool:
    """Whether each API of a configuration lists something; before, it has not looked at Prometheus yet."""
    asked = yaml.safe_load(configuration.read_text())
    return (
        bool(offer.custom) == ("rules" in asked)
        and bool(offer.external) == ("externalRules" in asked)
        and offer.usage == ("resourceRules" in asked)
    )


def _knows(side: Side, offer: Offer) -> bool:
    """Ours lists rule by rule. Whatever it lists in the end is compared as any other answer is."""
    known = discovered(side)
    return len(known.custom) >= len(offer.custom) and len(known.external) >= len(offer.external)


def _resources(side: Side, path: str) -> list[dict[str, Any]]:
    answer = side.ask(Question(category="discovery", target=path))
    if answer.status != 200:
        return []
    listed: list[dict[str, Any]] = msgspec.json.decode(answer.body)["resources"]
    return listed


def shares(count: int) -> dict[str, int]:
    """How many questions each configuration gets of `count`, by its weight."""
    total = sum(WEIGHTS.values())
    return {name: -(-count * weight // total) for name, weight in WEIGHTS.items()}
