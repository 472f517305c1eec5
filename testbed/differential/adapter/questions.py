"""Requests made by chance from a seed: mostly what an HPA or a person asks, sometimes what nobody should.

A generator knows what the configuration offers (from the peer's discovery documents) and what the world has; the same
seed over the same offer asks the same questions.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from testbed.differential.adapter import vocabulary as words
from testbed.differential.adapter.world import KINDS, NAMESPACES, PODS

CUSTOM, EXTERNAL, USAGE = "custom.metrics.k8s.io", "external.metrics.k8s.io", "metrics.k8s.io"

Choice = TypeVar("Choice")


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """One HTTP request. `category` says what it tries, trait by trait, for the counts."""

    category: str
    target: str  # path and query as they go over the wire
    method: str = "GET"
    accept: str = ""

    @property
    def traits(self) -> set[str]:
        """What it tries: the kind of request, and what is odd about it."""
        return set(self.category.split(", "))

    def __str__(self) -> str:
        accept = f" Accept: {self.accept}" if self.accept else ""
        return f"{self.method} {self.target}{accept}"


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a configuration serves: `pods/http_requests` with its scope, names of external metrics, usage or not."""

    custom: tuple[tuple[str, bool], ...] = ()
    external: tuple[str, ...] = ()
    usage: bool = False


DISCOVERY_PATHS = (
    "/apis",
    *(f"/apis/{group}" for group in (CUSTOM, EXTERNAL, USAGE)),
    *(f"/apis/{group}/v1beta1" for group in (CUSTOM, EXTERNAL, USAGE)),
    f"/apis/{CUSTOM}/v1beta2",
)


def always() -> Iterator[Question]:
    """Every discovery document in every form that clients ask for, and what each deviation shows in, by no chance."""
    for path in DISCOVERY_PATHS:
        for accept in ("", "application/yaml", *words.AGGREGATED_ACCEPTS):
            yield Question(category="discovery", target=path, accept=accept)
    one, two = (f"/apis/{CUSTOM}/v1beta2/namespaces/{namespace}" for namespace in NAMESPACES)
    external, usage = f"/apis/{EXTERNAL}/v1beta1/namespaces", f"/apis/{USAGE}/v1beta1"
    for target, accept in (
        ("/", ""),
        ("/version", ""),
        (f"{one}/pods/*/http_requests", ""),
        (f"{one}/pods/*/http_requests", "application/vnd.kubernetes.protobuf"),
        (f"{one}/pods/*/http_requests?labelSelector={'x' * 64}", ""),
        (f"{one}/pods/web-0/%zz", ""),
        (f"{one}/planets/mars/planet_mass", ""),
        (f"{one}/nodes/*/no_such_metric", ""),
        (f"{two}/pods/web-1/odd_values", ""),
        (f"{external}//queue_depth", ""),
        (f"{external}/default/queue_depth?resourceVersionMatch=Exact", ""),
        (f"{external}/{NAMESPACES[1]}/odd", ""),
        (f"{external}/{NAMESPACES[0]}/figures", ""),
        (f"{usage}/namespaces/{NAMESPACES[0]}/pods/db-0", ""),
        (f"{usage}/pods", ""),
        (f"{usage}/nodes", "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"),
        (f"{usage}/nodes", "application/json;as=Table;v=v1;g=meta.k8s.io"),
    ):
        yield Question(category="always", target=target, accept=accept)


class Questions:
    """Chooses; every choice comes from the one source of chance, so that a seed says everything."""

    def __init__(self, offer: Offer, *, seed: str) -> None:
        self._offer = offer
        self._chance = random.Random(seed)  # noqa: S311  chosen by seed, secret to nobody

    def some(self, count: int) -> Iterator[Question]:
        """So many, the plain ones of each API in front of the odd ones."""
        sources: list[tuple[Callable[[], Question], int]] = [(self._odd_path, 1)]
        if self._offer.custom:
            sources += [(self._custom, 12), (self._namespace_metric, 2)]
        if self._offer.external:
            sources.append((self._external, 10))
        if self._offer.usage:
            sources.append((self._usage, 10))
        makers, weights = zip(*sources, strict=True)
        for _ in range(count):
            [maker] = self._chance.choices(makers, weights)
            yield self._varied(maker())

    def _custom(self) -> Question:
        resource, metric, namespaced = self._listed()
        category = ["custom"]
        if self._rarely(0.05):
            resource = self._pick([*KINDS, *words.UNKNOWN_RESOURCES])
            category.append("another resource")
        kind = KINDS.get(resource)
        spelling = self._pick(kind.spellings) if kind and self._rarely(0.4) else resource
        if self._rarely(0.06):
            metric = self._pick(words.UNKNOWN_METRICS)
            category.append("unknown metric")
        name = self._name(kind.names if kind else ("web-0",), category)
        if self._rarely(0.08):
            namespaced = not namespaced
            category.append("other scope")
        scope = f"namespaces/{self._namespace(category)}/" if namespaced else ""
        path = f"/apis/{CUSTOM}/{self._version()}/{scope}{spelling}/{name}/{_segment(metric)}"
        query = self._selectors(category, everyone=name in ("*", "%2A"))
        return Question(category=", ".join(category), target=_target(path, query))

    def _listed(self) -> tuple[str, str, bool]:
        """Something that is offered. A kind first, the metric then: nearly each series has a label `job`."""
        kinds = sorted({name.split("/", 1)[0] for name, _ in self._offer.custom} - {"namespaces"})
        weights = [_weight(kind) for kind in kinds]
        [chosen] = self._chance.choices(kinds, weights)
        of_kind = [(n, scoped) for n, scoped in self._offer.custom if n.startswith(f"{chosen}/")]
        name, namespaced = self._pick(of_kind)
        return chosen, name.split("/", 1)[1], namespaced

    def _namespace_metric(self) -> Question:
        of_namespaces = [m for m, _ in self._offer.custom if m.startswith("namespaces/")]
        metric = self._pick(of_namespaces or ["namespaces/none"]).split("/", 1)[1]
        category = ["metric of a namespace"]
        if self._rarely(0.1):
            metric = self._pick(words.UNKNOWN_METRICS)
            category.append("unknown metric")
        namespace = "*" if self._rarely(0.3) else self._namespace(category)
        path = f"/apis/{CUSTOM}/{self._version()}/namespaces/{namespace}/metrics/{_segment(metric)}"
        query = self._selectors(category, everyone=namespace == "*")
        return Question(category=", ".join(category), target=_target(path, query))

    def _external(self) -> Question:
        category = ["external"]
        metric = self._pick(self._offer.external)
        if self._rarely(0.06):
            metric = self._pick(words.UNKNOWN_METRICS)
            category.append("unknown metric")
        namespace = "default" if self._rarely(0.2) else self._namespace(category)
        path = f"/apis/{EXTERNAL}/v1beta1/namespaces/{namespace}/{_segment(metric)}"
        query = []
        if self._rarely(0.6):
            query.append(("labelSelector", self._selector(words.METRIC_SELECTORS, category)))
        if self._rarely(0.05):
            query.append(("metricLabelSelector", self._selector(words.METRIC_SELECTORS, category)))
        return Question(category=", ".join(category), target=_target(path, query))

    def _usage(self) -> Question:
        category = ["usage"]
        if self._rarely(0.3):
            path = "nodes"
            if self._rarely(0.5):
                path += f"/{self._name(KINDS['nodes'].names, category)}"
        elif self._rarely(0.25):
            path = "pods"
        else:
            path = f"namespaces/{self._namespace(category)}/pods"
            if self._rarely(0.5):
                path += f"/{self._name(KINDS['pods'].names, category)}"
        query = []
        if self._rarely(0.4):
            query.append(("labelSelector", self._selector(words.LABEL_SELECTORS, category)))
        if self._rarely(0.1):
            category.append("field selector")
            query.append(("fieldSelector", self._pick(words.FIELD_SELECTORS)))
        return Question(
            category=", ".join(category), target=_target(f"/apis/{USAGE}/v1beta1/{path}", query)
        )

    def _odd_path(self) -> Question:
        path = self._pick(words.ODD_PATHS)
        accept = self._pick(words.AGGREGATED_ACCEPTS) if self._rarely(0.2) else ""
        return Question(category="odd path", target=_encoded(path), accept=accept)

    def _varied(self, question: Question) -> Question:
        """Now and then another Accept, another method, another list option."""
        if question.accept:
            return question
        if self._rarely(0.06):
            return msgspec.structs.replace(
                question, accept=self._pick(words.ACCEPTS), category=question.category + ", Accept"
            )
        if self._rarely(0.02) and question.target.startswith("/apis"):
            return msgspec.structs.replace(
                question, method=self._pick(words.METHODS), category="method"
            )
        if self._rarely(0.05):
            joint = "&" if "?" in question.target else "?"
            option = urlencode([self._pick(words.OPTIONS)])
            return msgspec.structs.replace(
                question,
                target=f"{question.target}{joint}{option}",
                category=question.category + ", option",
            )
        return question

    def _version(self) -> str:
        return self._pick(("v1beta1", "v1beta2"))

    def _namespace(self, category: list[str]) -> str:
        if self._rarely(0.05):
            category.append("missing namespace")
            return _encoded(self._pick(words.MISSING_NAMESPACES))
        return self._pick(NAMESPACES)

    def _name(self, names: Sequence[str], category: list[str]) -> str:
        if self._rarely(0.5):
            category.append("everyone")
            return self._pick(("*", "%2A"))
        if self._rarely(0.1):
            category.append("missing object")
            return _encoded(self._pick((*words.MISSING_NAMES, *PODS)))
        category.append("one object")
        return names[0] if self._rarely(0.4) else self._pick(names)

    def _selectors(self, category: list[str], *, everyone: bool) -> list[tuple[str, str]]:
        query = []
        if self._rarely(0.4 if everyone else 0.1):
            query.append(("labelSelector", self._selector(words.LABEL_SELECTORS, category)))
        if self._rarely(0.2):
            query.append(("metricLabelSelector", self._selector(words.METRIC_SELECTORS, category)))
        return query

    def _selector(self, well_formed: Sequence[str], category: list[str]) -> str:
        if self._rarely(0.08):
            category.append("malformed selector")
            return self._pick(words.MALFORMED_SELECTORS)
        category.append("selector")
        return self._pick(well_formed)

    def _pick(self, choices: Sequence[Choice]) -> Choice:
        return self._chance.choice(choices)

    def _rarely(self, probability: float) -> bool:
        return self._chance.random() < probability


def _weight(kind: str) -> float:
    """Of kinds that have objects and figures more than of those that merely share a label's name."""
    if kind == "pods":
        return 40
    if kind == "jobs.batch":
        return 3
    return 10 if kind in KINDS else 0.3


def _segment(metric: str) -> str:
    """A metric's name in a path; one with a slash becomes two segments, as it does for every client."""
    return (
        metric if metric in words.UNKNOWN_METRICS and metric.isascii() else quote(metric, safe="/*")
    )


def _encoded(path: str) -> str:
    return quote(path, safe="/%*|")


def _target(path: str, query: Sequence[tuple[str, str]]) -> str:
    return f"{path}?{urlencode(query)}" if query else path
