"""The objects in the cluster and the series in Prometheus: the same in each run, so that a seed is reproducible."""

import math
import random
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from testbed.cluster import Cluster
from testbed.exporter import Exporter
from testbed.waiting import until

FIRST, SECOND = "differential-one", "differential-two"
NAMESPACES = (FIRST, SECOND)
GROUP = "differential.loadline.io"
OTHER_GROUP = "other.differential.loadline.io"
"""Also has gadgets: which group is chosen depends on precedence."""
DEFINITIONS = (f"gadgets.{GROUP}", f"gadgets.{OTHER_GROUP}", f"planets.{GROUP}")
NODES = ("node-0", "node-1", "node-2")
LABELS = {
    "web-0": {"app": "web", "tier": "a", "weight": "10"},
    "web-1": {"app": "web", "tier": "b", "weight": "20"},
    "web-2": {"app": "web", "tier": "c", "weight": "x"},
    "web.dotted": {"app": "web", "example.com/role": "odd"},
    "db-0": {"app": "db", "tier": "a"},
    "idle": {},
}
CLUSTER_SCOPED = (
    f"planets.{GROUP}",
    "apiservices.apiregistration.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "componentstatuses",
    "customresourcedefinitions.apiextensions.k8s.io",
    "priorityclasses.scheduling.k8s.io",
    "storageclasses.storage.k8s.io",
    "tokenreviews.authentication.k8s.io",
)
"""Cluster-scoped kinds that some series describe, besides the three that prometheus-adapter treats as such."""

PODS = tuple(LABELS)
PENDING = "pending"

Manifest = Mapping[str, Any]
Series = tuple[str, float, dict[str, str]]


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """A kind of object that metrics describe: its spellings and the names of its objects."""

    spellings: tuple[str, ...]
    names: tuple[str, ...]


KINDS: dict[str, Kind] = {
    "pods": Kind(spellings=("pods", "pod", "po", "pods.v1", "Pods", "POD"), names=(*PODS, PENDING)),
    "services": Kind(spellings=("services", "service", "svc"), names=("web", "db")),
    "nodes": Kind(spellings=("nodes", "node", "no"), names=NODES),
    "namespaces": Kind(spellings=("namespaces", "namespace", "ns"), names=NAMESPACES),
    "persistentvolumes": Kind(
        spellings=("persistentvolumes", "persistentvolume", "pv"), names=("disk",)
    ),
    "deployments.apps": Kind(
        spellings=(
            "deployments.apps",
            "deployment.apps",
            "deployments",
            "deployment",
            "deploy",
            "deployments.v1.apps",
            "deployments.extensions",
        ),
        names=("web", "db"),
    ),
    "ingresses.networking.k8s.io": Kind(
        spellings=(
            "ingresses.networking.k8s.io",
            "ingress.networking.k8s.io",
            "ingresses.networking",
            "ingresses",
            "ing",
        ),
        names=("main",),
    ),
    "jobs.batch": Kind(spellings=("jobs.batch", "job.batch", "jobs", "job"), names=("testbed",)),
    f"gadgets.{GROUP}": Kind(
        spellings=(
            f"gadgets.{GROUP}",
            f"gadget.{GROUP}",
            f"gadgets.{OTHER_GROUP}",
            "gadgets.differential",
            "gadgets",
            "gadget",
            "gd",
        ),
        names=("spinner", "winder"),
    ),
    f"planets.{GROUP}": Kind(
        spellings=(f"planets.{GROUP}", f"planet.{GROUP}", "planets", "planet"),
        names=("mars", "venus"),
    ),
}


def install(cluster: Cluster) -> None:
    """Create everything and wait until it exists and the pods run. Idempotent."""
    cluster.apply(*_definitions())
    for name in DEFINITIONS:
        cluster.wait_for_crd(name)
    cluster.apply(
        *({"apiVersion": "v1", "kind": "Namespace", "metadata": _meta(n)} for n in NAMESPACES)
    )
    cluster.apply(*_cluster_scoped(), *(m for n in NAMESPACES for m in _namespaced(n)))
    until(lambda: _all_running(cluster), what="the pods to run")


def remove(cluster: Cluster) -> None:
    """Delete everything that `install` created."""
    cluster.kubectl("delete", "namespace", *NAMESPACES, "--wait=false", "--ignore-not-found")
    cluster.kubectl("delete", "persistentvolume", "disk", "--wait=false", "--ignore-not-found")
    cluster.kubectl("delete", "crd", *DEFINITIONS, "--wait=false", "--ignore-not-found")


def expose(exporter: Exporter) -> None:
    """Expose all series at fixed values and rates."""
    for name, value, labels in gauges():
        exporter.set(name, value, **labels)
    for name, rate, labels in counters():
        exporter.increase(name, rate, **labels)


def gauges() -> Iterator[Series]:
    """The series with constant values."""
    yield from _odd_values()
    yield from _odd_usage()
    yield from _odd_labels()
    yield from _magnitudes()
    yield from _queues()
    yield from _naming_edges()
    for number, namespace in enumerate(NAMESPACES):
        base = {"namespace": namespace}
        yield "quota", 100.0 + number, base
        for index, pod in enumerate(PODS[:-1]):
            about = {**base, "pod": pod, "container": "main", "node": NODES[index % 3]}
            yield "container_memory_working_set_bytes", 1e6 * (index + 1) + 0.5, about
            yield "container_spec_cpu_period", 100_000.0, about
            yield "duplicated", float(index), {**base, "pod": pod, "copy": "first"}
            yield "duplicated", float(index + 100), {**base, "pod": pod, "copy": "second"}
        for name in ("web", "db"):
            yield "service_latency", 0.25 + number, {**base, "service": name}
            yield "replica_lag", 3.0 + number, {**base, "deployment": name}
        yield "gadget_spin", 12.5, {**base, "gadget": "spinner"}
        yield "planet_mass", 6.39, {**base, "planet": "mars"}
        yield "volume_usage", 0.875, {**base, "persistentvolume": "disk"}
        for node in NODES[:2]:
            yield "node_load", 1.5, {**base, "node": node}
    for index, node in enumerate(NODES[:2]):
        yield "container_memory_working_set_bytes", 8e9 + index, {"id": "/", "node": node}


def counters() -> Iterator[Series]:
    """The counters, with their rates per second."""
    for number, namespace in enumerate(NAMESPACES):
        base = {"namespace": namespace}
        yield "ingress_hits_total", 4.0, {**base, "ingress": "main"}
        for index, pod in enumerate(PODS[:-1]):
            on = {**base, "pod": pod, "node": NODES[index % 3]}
            for code, verb in (("200", "GET"), ("200", "POST"), ("500", "GET")):
                labels = {**base, "pod": pod, "service": "web", "code": code, "verb": verb}
                yield "http_requests_total", 1.5 * (index + number), labels
            yield "http_request_duration_seconds_total", 0.1 * index, {**base, "pod": pod}
            kubernetes = {"kubernetes_namespace": namespace, "kubernetes_pod_name": pod}
            yield "requests_total", 2.0 + index, kubernetes
            for container in ("main", "sidecar", "POD"):
                about = {**on, "container": container}
                yield "container_cpu_usage_seconds_total", 0.01 * (index + 1), about
            yield "container_fs_reads_total", 3.0, {**on, "container": "main"}
            yield "container_network_receive_bytes_total", 1000.0, on
    for node in NODES[:2]:
        yield "container_cpu_usage_seconds_total", 0.75, {"id": "/", "node": node}


def _odd_values() -> Iterator[Series]:
    values = {
        "nan": math.nan,
        "inf": math.inf,
        "minus_inf": -math.inf,
        "negative": -1234.5678,
        "too_large": 1e19,
        "large": 9.2e15,
        "tiny": 1e-9,
        "below_a_milli": 0.0005,
        "almost_two": 1.9999999,
        "zero": 0.0,
        "minus_a_bit": -0.0015,
        "mega": 5e6,
    }
    for pod, kinds in {
        "web-0": ("negative", "almost_two"),
        "web-1": ("tiny",),
        "web.dotted": ("below_a_milli",),
        "db-0": ("large",),
        "idle": ("minus_a_bit",),
    }.items():
        for kind in kinds:
            yield "odd_values", values[kind], {"namespace": FIRST, "pod": pod, "kind": kind}
    for pod, kind in (("web-0", "nan"), ("web-1", "inf"), ("web-2", "minus_inf")):
        yield "odd_values", values[kind], {"namespace": SECOND, "pod": pod, "kind": kind}
    for pod, kind in (("web.dotted", "too_large"), ("db-0", "zero"), ("idle", "mega")):
        yield "odd_values", values[kind], {"namespace": SECOND, "pod": pod, "kind": kind}


def _odd_usage() -> Iterator[Series]:
    """Impossible memory usage, and a container without any other series."""
    for pod, container, value in (
        ("web-0", "cache", 4096.25),
        ("web-1", "broken", math.nan),
        ("web-2", "broken", -5.0),
        ("db-0", "broken", 3e19),
        ("idle", "main", 1.0),  # without any cpu usage
    ):
        labels = {"namespace": SECOND, "pod": pod, "container": container}
        yield "container_memory_working_set_bytes", value, labels


def _magnitudes() -> Iterator[Series]:
    """Values of every magnitude that fits, as a metric and as memory of a pod's containers, to compare the formatting."""
    generator = random.Random(1)  # noqa: S311  the same values in each run
    values = [generator.choice((1, -1)) * 10 ** generator.uniform(-5, 15.9) for _ in range(60)]
    values += [float(2**exponent) for exponent in range(0, 52, 3)]
    values += [1024.0 * 1000, 1536.0, 1000.0, 999.9995, 0.9995, 1e15, 123456789.125]
    for number, value in enumerate(values):
        yield "figures", value, {"namespace": FIRST, "number": f"{number:02}"}
        labels = {"namespace": FIRST, "pod": "db-0", "container": f"c{number:02}"}
        yield "container_memory_working_set_bytes", value, labels


def _odd_labels() -> Iterator[Series]:
    """Label names that equal or resemble the name of a kind, and others that they are combined with."""
    kinds = ("endpoint", "endpoints", "secret", "configmap", "serviceaccount", "replicaset", "statefulset",
             "daemonset", "horizontalpodautoscaler", "hpa", "cronjob", "storageclass", "lease", "event", "binding",
             "scale", "status", "limitrange", "resourcequota", "networkpolicy", "poddisruptionbudget", "role",
             "clusterrole", "customresourcedefinition", "apiservice", "metrics", "pods", "Service",
             "tokenreview", "componentstatus", "priorityclass", "controllerrevision", "gadgets")  # fmt: skip
    yield "many_labels", 1.0, {"namespace": FIRST, **dict.fromkeys(kinds, "web")}
    yield "upper_case", 2.0, {"namespace": FIRST, "Pod": "web-0", "DEPLOYMENT": "web"}
    yield "empty_labels", 3.0, {"namespace": FIRST, "pod": "", "service": "web"}
    yield "plural_labels", 4.0, {"namespaces": FIRST, "namespace": SECOND, "deployments": "web"}


def _queues() -> Iterator[Series]:
    for number, namespace in enumerate((*NAMESPACES, "default")):
        for index, queue in enumerate(("mail", "jobs", "a.b")):
            labels = {"namespace": namespace, "queue": queue, "topic": f"topic-{index}"}
            yield "queue_depth", 10.0 * (index + 1) + number, labels
            yield "queue_capacity", 1000.0, labels
        yield "queue_consumer_lag", 7.0 + number, {"namespace": namespace, "name": f"c{number}"}
    yield "queue_depth", 5.0, {"queue": "homeless", "topic": "topic-9"}
    yield "cheddar", 1.0, {"sharp": "true", "brand": "spinner", "namespace": FIRST}
    for value in ("größe", 'with "quotes"', "back\\slash", "new\nline", "a|b", ".*", "{x}", "日本"):
        yield "weird_labels", 1.0, {"namespace": FIRST, "text": value}


def _naming_edges() -> Iterator[Series]:
    plain = ("edge_suffix_total", "edge_whole", "edge_part_one", "edge_part_two", "edge_gone",
             "edge_slash", "edge_space", "EDGE_upper", "edge_upper", "edge_first", "edge_second",
             "edge_filtered_a", "edge_filtered_b", "edge_filtered_c", "edge_unmapped",
             "edge_without_namespace")  # fmt: skip
    for index, name in enumerate(plain):
        for number, namespace in enumerate(NAMESPACES):
            labels = {"namespace": namespace, "pod": "web-0", "node": NODES[number]}
            yield name, 10.0 * index + number, labels
    for number, namespace in enumerate(NAMESPACES):
        grouped = {
            "kube__pod": "web-1",
            "kube_apps_deployment": "web",
            "kube_differential_loadline_io_gadget": "spinner",
        }
        yield "edge_template", 21.0 + number, {"kube_namespace": namespace, **grouped}
        conditional = {"kube_pod": "db-0", "kube_apps_deployment": "db", "kube_node": NODES[number]}
        yield "edge_conditional", 31.0 + number, {"kube_namespace": namespace, **conditional}
        overridden = {"deploy": "web", "gadget": "winder", "planet": "venus", "kube_node": "node-2"}
        yield "edge_overridden", 41.0 + number, {"ns": namespace, **overridden}


def _meta(name: str, namespace: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, **({"namespace": namespace} if namespace else {}), **more}


def _definitions() -> Iterator[Manifest]:
    for plural, group, kind, scope, short in (
        ("gadgets", GROUP, "Gadget", "Namespaced", ["gd"]),
        ("gadgets", OTHER_GROUP, "Gadget", "Namespaced", []),
        ("planets", GROUP, "Planet", "Cluster", []),
    ):
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        versions = [
            {
                "name": name,
                "served": True,
                "storage": name == "v1",
                "schema": {"openAPIV3Schema": schema},
            }
            for name in ("v1alpha1", "v1", "v1beta1")
        ]
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": _meta(f"{plural}.{group}"),
            "spec": {
                "group": group,
                "scope": scope,
                "names": {
                    "plural": plural,
                    "singular": kind.lower(),
                    "kind": kind,
                    "shortNames": short,
                },
                "versions": versions,
            },
        }


def _cluster_scoped() -> Iterator[Manifest]:
    for planet in ("mars", "venus"):
        labels = {"app": planet}
        yield {
            "apiVersion": f"{GROUP}/v1",
            "kind": "Planet",
            "metadata": _meta(planet, labels=labels),
        }
    yield {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": _meta("disk", labels={"app": "db"}),
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/nowhere"},
        },
    }


def _namespaced(namespace: str) -> Iterator[Manifest]:
    for pod in PODS:
        yield _pod(pod, namespace, labels=LABELS[pod])
    yield _pod(PENDING, namespace, annotations={"testbed.loadline.io/phase": "Pending"})
    for name in ("web", "db"):
        meta = _meta(name, namespace, labels={"app": name})
        ports = [{"port": 80}]
        yield {"apiVersion": "v1", "kind": "Service", "metadata": meta, "spec": {"ports": ports}}
        yield {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": meta,
            "spec": {
                "replicas": 0,
                "selector": {"matchLabels": {"deployment": name}},
                "template": {"metadata": {"labels": {"deployment": name}}, "spec": _CONTAINERS},
            },
        }
    backend = {"service": {"name": "web", "port": {"number": 80}}}
    yield {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": _meta("main", namespace, labels={"app": "web"}),
        "spec": {"defaultBackend": backend},
    }
    for gadget in ("spinner", "winder"):
        meta = _meta(gadget, namespace, labels={"app": gadget})
        yield {"apiVersion": f"{GROUP}/v1", "kind": "Gadget", "metadata": meta}


_CONTAINERS = {"containers": [{"name": "main", "image": "main"}]}


def _pod(name: str, namespace: str, **meta: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _meta(name, namespace, **meta),
        "spec": _CONTAINERS,
    }


def _all_running(cluster: Cluster) -> bool:
    for namespace in NAMESPACES:
        pods = cluster.get(f"/api/v1/namespaces/{namespace}/pods")["items"]
        running = {p["metadata"]["name"] for p in pods if p["status"].get("phase") == "Running"}
        if running != set(PODS):
            return False
    return True
