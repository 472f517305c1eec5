"""The whole comparison: start both with a configuration, ask both, look at each pair of answers, count."""

import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from http import HTTPStatus
from pathlib import Path
from typing import Any, Literal

import msgspec
import yaml

from testbed.cluster import Cluster
from testbed.differential.adapter import generated, questions, sides, through_aggregator, world
from testbed.differential.adapter.comparison import Seen, differences, seen
from testbed.differential.adapter.deviations import CUSTOM_TIMESTAMPS, another_form, explain
from testbed.differential.adapter.frozen import Fault, FrozenPrometheus
from testbed.differential.adapter.questions import Offer, Question, Questions
from testbed.differential.adapter.sides import Answer, Side
from testbed.differential.adapter.through_aggregator import Unlike
from testbed.processes import ProcessFailed
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
    "generated": 4,
}
"""What share of the questions each configuration is asked."""

SENSIBLE = {"custom", "external", "usage", "metric of a namespace", "everyone", "one object"}
"""Traits of questions that a healthy Prometheus would answer."""

FAULTS = {
    "refuses": Fault(
        status=400, body='{"status":"error","errorType":"bad_data","error":"1:2: parse error"}'
    ),
    "cannot execute": Fault(
        status=422, body='{"status":"error","errorType":"execution","error":"too many samples"}'
    ),
    "is overloaded": Fault(
        status=503, body='{"status":"error","errorType":"timeout","error":"query timed out"}'
    ),
    "is behind a broken proxy": Fault(
        status=502, content_type="text/html", body="<html>Bad Gateway</html>"
    ),
    "talks nonsense": Fault(status=200, body="certainly!"),
    "breaks off": Fault(status=200, body='{"status":"success","data":{"resultType":"vec'),
    "fails with 200": Fault(
        status=200, body='{"status":"error","errorType":"internal","error":"x"}'
    ),
    "has another shape": Fault(
        status=200, body='{"status":"success","data":{"resultType":"vector","result":{"a":1}}}'
    ),
    # At last what is an answer of a kind, because ours serves one for a second.
    "answers a matrix": Fault(
        status=200, body='{"status":"success","data":{"resultType":"matrix","result":[]}}'
    ),
}

SAMPLES_WANTED = 8  # of each series before the frozen moment, for rates


class Pair(msgspec.Struct, frozen=True, kw_only=True):
    """Both programs, running."""

    theirs: Side
    ours: Side
    offer: Offer
    frozen: tuple[FrozenPrometheus, ...]
    pool: ThreadPoolExecutor

    def ask(self, question: Question) -> tuple[Answer, Answer]:
        """At the same time."""
        theirs, ours = (self.pool.submit(side.ask, question) for side in (self.theirs, self.ours))
        return theirs.result(), ours.result()


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A question that was answered differently."""

    configuration: str
    question: Question
    theirs: Answer
    ours: Answer
    places: tuple[str, ...]
    deviation: str | None  # the row of docs/deviations.md it is, None: nobody meant it
    queries: tuple[tuple[str, ...], tuple[str, ...]]  # that the peer and we sent to Prometheus

    def __str__(self) -> str:
        lines = [f"[{self.configuration}; {self.question.category}] {self.question}"]
        lines += [f"    {each}" for each in self.places[:6]]
        for who, queries in zip(("the peer", "ours"), self.queries, strict=True):
            lines += [f"    {who} asked: {query}" for query in queries[:3]]
        return "\n".join(lines)


class Met(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one question."""

    status: int  # the peer's
    deviations: tuple[str, ...] = ()
    difference: Difference | None = None


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of one configuration."""

    configuration: str
    asked: int
    statuses: Mapping[str, int]
    traits: Mapping[str, int]
    different: tuple[Difference, ...]
    deviations: Mapping[str, int]

    @property
    def unexplained(self) -> list[Difference]:
        """Nobody meant these."""
        return [each for each in self.different if each.deviation is None]


def configuration_file(name: str, directory: Path, *, seed: int = 0) -> Path:
    """The file that both programs read."""
    path = directory / f"{name}.yaml"
    if name == "chart_defaults":
        path.write_text("rules:\n" + CHART_RULES.read_text())
    elif name == "generated":
        path.write_bytes(msgspec.yaml.encode(generated.configuration(str(seed))))
    else:
        path = CONFIGURATIONS / path.name
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
    against: Literal["ours", "peer"] = "ours"

    def run(self, name: str, count: int) -> Outcome:
        """Ask `count` questions under one configuration, and every discovery document."""
        with self.both(name) as pair:
            asked = [*questions.always(), *self._questions(name, pair.offer).some(count)]
            met = [self._ask(name, question, pair) for question in asked]
        deviations = Counter(each for one in met for each in one.deviations)
        return Outcome(
            configuration=name,
            asked=len(asked),
            statuses=dict(sorted(Counter(str(one.status) for one in met).items())),
            traits=dict(sorted(Counter(t for q in asked for t in q.traits).items())),
            different=tuple(one.difference for one in met if one.difference is not None),
            deviations=dict(sorted(deviations.items())),
        )

    def through_aggregator(self, name: str, count: int) -> list[Unlike]:
        """What differs among `count` questions that go through kube-apiserver, and that nobody meant."""
        with self.both(name) as pair:
            asked = through_aggregator.suitable(
                list(self._questions(name, pair.offer).some(4 * count)), count
            )
            return through_aggregator.compare(
                self.cluster, (pair.theirs, pair.ours), asked, self._seen
            )

    def under_faults(self, name: str, count: int) -> dict[str, list[Difference]]:
        """What differs among the answers to `count` questions while Prometheus fails, fault by fault."""
        found: dict[str, list[Difference]] = {}
        with self.both(name) as pair:
            made = self._questions(name, pair.offer).some(4 * count)
            asked = [question for question in made if question.traits <= SENSIBLE][:count]
            for fault_name, fault in FAULTS.items():
                for proxy in pair.frozen:
                    proxy.fault = fault
                met = [self._ask(name, question, pair).difference for question in asked]
                found[fault_name] = [one for one in met if one is not None]
        return found

    def starts(self, side: str, configuration: Path) -> bool:
        """Whether a program gets ready with a file, or ends."""
        try:
            with self._frozen() as proxy, self._start(side, configuration, proxy):
                return True
        except ProcessFailed:
            return False

    @contextmanager
    def both(self, name: str) -> Iterator[Pair]:
        """Both programs with a configuration, knowing their metrics."""
        path = configuration_file(name, self.directory, seed=self.seed)
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
            yield Pair(theirs=theirs, ours=ours, offer=offer, frozen=tuple(frozen), pool=pool)

    def _questions(self, name: str, offer: Offer) -> Questions:
        return Questions(offer, seed=f"{self.seed} {name}")

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

    def _ask(self, name: str, question: Question, pair: Pair) -> Met:
        before = [len(proxy.queries) for proxy in pair.frozen]
        theirs, ours = pair.ask(question)
        left, right = self._seen(theirs), self._seen(ours)
        notes = []
        if form := another_form(left, right):
            notes.append(form)
            theirs = pair.theirs.ask(msgspec.structs.replace(question, accept="application/json"))
            left = self._seen(theirs)
        if right.evaluated_timestamps and not left.evaluated_timestamps:
            notes.append(CUSTOM_TIMESTAMPS)
        found = differences(left, right)
        if not found:
            return Met(status=theirs.status, deviations=tuple(notes))
        sent = [tuple(p.queries[start:]) for p, start in zip(pair.frozen, before, strict=True)]
        difference = Difference(
            configuration=name,
            question=question,
            theirs=theirs,
            ours=ours,
            places=tuple(found),
            deviation=explain(question, left, right),
            queries=(sent[0], sent[1]),
        )
        if difference.deviation is not None:
            notes.append(difference.deviation)
        return Met(status=theirs.status, deviations=tuple(notes), difference=difference)

    def _seen(self, answer: Answer) -> Seen:
        return seen(answer, now_seconds=time.time(), moment_seconds=self.at_unix_seconds)


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
    """Whether it has looked for all series: then no metric is unknown for the moment only (503).

    Whatever it lists then is compared as any other answer is.
    """
    known = discovered(side)
    groups = [
        g
        for g, has in ((questions.CUSTOM, offer.custom), (questions.EXTERNAL, offer.external))
        if has
    ]
    nowhere = {questions.CUSTOM: "pods/nobody/nothing", questions.EXTERNAL: "nothing"}
    asked = [
        Question(
            category="discovery", target=f"/apis/{group}/v1beta1/namespaces/none/{nowhere[group]}"
        )
        for group in groups
    ]
    return len(known.custom) >= len(offer.custom) and all(
        side.ask(question).status == HTTPStatus.NOT_FOUND for question in asked
    )


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


def summary(outcomes: Sequence[Outcome], *, seed: int) -> dict[str, Any]:
    """The counts of all configurations, for machines and for the record."""
    added: dict[str, Counter[str]] = {}
    for key in ("statuses", "traits", "deviations"):
        added[key] = Counter()
        for outcome in outcomes:
            added[key].update(getattr(outcome, key))
    return {
        "seed": seed,
        "asked": sum(outcome.asked for outcome in outcomes),
        "unexplained": sum(len(outcome.unexplained) for outcome in outcomes),
        "by_configuration": {outcome.configuration: outcome.asked for outcome in outcomes},
        **{key: dict(sorted(counts.items())) for key, counts in added.items()},
    }
