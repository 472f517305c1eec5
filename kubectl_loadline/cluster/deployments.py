"""Pure: which Deployments run Loadline's programs, where they listen, with which arguments, and which pods are theirs."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from kubectl_loadline.cluster.container_arguments import expanded, in_one_word, variables_of
from scaler.api.kinds import LOAD_AUTOSCALERS, WatchedKind
from wire.api.meta import LabelSelector, ObjectMeta

LABELS: Final = "app.kubernetes.io/part-of=loadline"
"""The charts give this label to every object."""
DEFAULT_PORTS: Final = {"scaler": 10443, "adapter": 6443}


class _Port(msgspec.Struct, frozen=True, rename="camel"):
    container_port: int
    name: str = ""


class _FieldRef(msgspec.Struct, frozen=True, rename="camel"):
    field_path: str = ""


class _ValueFrom(msgspec.Struct, frozen=True, rename="camel"):
    field_ref: _FieldRef | None = None


class _Variable(msgspec.Struct, frozen=True, rename="camel"):
    name: str
    value: str = ""
    value_from: _ValueFrom | None = None


class _Container(msgspec.Struct, frozen=True):
    image: str = ""
    env: tuple[_Variable, ...] | None = None
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    ports: tuple[_Port, ...] = ()


class _ConfigMapName(msgspec.Struct, frozen=True):
    name: str = ""


class _Volume(msgspec.Struct, frozen=True, rename="camel"):
    config_map: _ConfigMapName | None = None


class _PodSpec(msgspec.Struct, frozen=True, rename="camel"):
    containers: tuple[_Container, ...] = ()
    volumes: tuple[_Volume, ...] = ()
    service_account_name: str = ""


class _Template(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()
    spec: _PodSpec = _PodSpec()


class _DeploymentSpec(msgspec.Struct, frozen=True):
    selector: LabelSelector = LabelSelector()
    template: _Template = _Template()


class Deployment(msgspec.Struct, frozen=True):
    """The part of a Deployment that says what it runs."""

    metadata: ObjectMeta
    spec: _DeploymentSpec = _DeploymentSpec()


class DeploymentList(msgspec.Struct, frozen=True):
    """A list of Deployments."""

    items: tuple[Deployment, ...] = ()


class RunningProgram(msgspec.Struct, frozen=True, kw_only=True):
    """A Deployment of the scaler or of the adapter; `port` is 0 when it does not serve."""

    program: str
    namespace: str
    name: str
    service_account: str
    selector: LabelSelector
    pod_labels: Mapping[str, str]
    arguments: tuple[str, ...]
    """Each flag with its value in one word, `--flag=value`."""
    port: int
    config_maps: tuple[str, ...] = ()
    """Those that are mounted into its pods."""
    has_command: bool = True
    """Whether its command says so, and not only the name of its image."""

    def __str__(self) -> str:
        return f"Deployment {self.namespace}/{self.name}"

    def argument(self, flag: str) -> str:
        """The value of a flag of the program, empty if it is not given."""
        given = [each.partition("=")[2] for each in self.arguments if each.startswith(f"{flag}=")]
        return given[-1] if given else ""


def running(deployments: Iterable[Deployment], program: str) -> tuple[RunningProgram, ...]:
    """Those that run `program` (scaler or adapter), by namespace and name."""
    found = (_running(each, program) for each in deployments)
    return tuple(
        sorted((each for each in found if each), key=lambda each: (each.namespace, each.name))
    )


def reconciles(scaler: RunningProgram, kind: WatchedKind, namespace: str) -> bool:
    """Whether its flags say that it reconciles this kind in this namespace."""
    namespaces = scaler.argument("--namespace")
    return watches(scaler, kind) and (not namespaces or namespace in namespaces.split(","))


def watches(scaler: RunningProgram, kind: WatchedKind) -> bool:
    """Whether its flags say that it reconciles this kind in some namespace."""
    return (scaler.argument("--watch") or LOAD_AUTOSCALERS.plural) == kind.plural


def _running(deployment: Deployment, program: str) -> RunningProgram | None:
    pod = deployment.spec.template.spec
    for container in pod.containers:
        if _runs(container, program):
            arguments = _arguments(container, program, deployment.metadata.namespace)
            return RunningProgram(
                program=program,
                namespace=deployment.metadata.namespace,
                name=deployment.metadata.name,
                service_account=pod.service_account_name or "default",
                selector=deployment.spec.selector,
                pod_labels=deployment.spec.template.metadata.labels,
                arguments=arguments,
                port=_port(container, arguments, program),
                config_maps=tuple(each.config_map.name for each in pod.volumes if each.config_map),
                has_command=bool(container.command),
            )
    return None


def _runs(container: _Container, program: str) -> bool:
    if container.command:
        return any(_is_program(word, program) for word in container.command)
    # Manifests of prometheus-adapter have arguments only, and the adapter is the entry point of the image.
    repository = container.image.rpartition("/")[2]
    return program == "adapter" and "loadline" in re.split("[:@]", repository)[0]


def _arguments(container: _Container, program: str, namespace: str) -> tuple[str, ...]:
    """What follows the program in the command, and the arguments."""
    command = container.command
    index = next((i for i, word in enumerate(command) if _is_program(word, program)), len(command))
    known = ((each.name, _value(each, namespace)) for each in container.env or ())
    words = expanded((*command[index + 1 :], *container.args), variables_of(known))
    return tuple(in_one_word(words))


def _value(variable: _Variable, namespace: str) -> str | None:
    """None for a value that only the pod knows."""
    if variable.value_from is None:
        return variable.value
    field = variable.value_from.field_ref
    return namespace if field is not None and field.field_path == "metadata.namespace" else None


def _is_program(word: str, program: str) -> bool:
    return re.search(rf"\bloadline-{program}$", word) is not None


def _port(container: _Container, arguments: Sequence[str], program: str) -> int:
    for argument in reversed(arguments):
        if (match := re.fullmatch(r"--secure-port=(\d+)", argument)) is not None:
            return int(match[1])
    named = [each.container_port for each in container.ports if each.name == "https"]
    return named[0] if named else DEFAULT_PORTS[program]


class _Condition(msgspec.Struct, frozen=True):
    type: str
    status: str


class _PodStatus(msgspec.Struct, frozen=True):
    conditions: tuple[_Condition, ...] | None = None
    phase: str = ""


class _RunningPodSpec(msgspec.Struct, frozen=True, rename="camel"):
    service_account_name: str = ""


class Pod(msgspec.Struct, frozen=True):
    """The part of a pod that says whose it is, and whether it serves."""

    metadata: ObjectMeta
    spec: _RunningPodSpec = _RunningPodSpec()
    status: _PodStatus = _PodStatus()


class PodList(msgspec.Struct, frozen=True):
    """A list of pods."""

    items: tuple[Pod, ...] = ()


def belongs_to(pod: Pod, program: RunningProgram) -> bool:
    """Whether it is a pod of this Deployment with its service account. Its labels alone could be those of any pod."""
    # The name that the Deployment controller gives to a ReplicaSet (getReplicaSetName).
    replica_set = f"{program.name}-{pod.metadata.labels.get('pod-template-hash', '')}"
    owned = any(
        each.controller and (each.kind, each.name) == ("ReplicaSet", replica_set)
        for each in pod.metadata.owner_references
    )
    return owned and pod.spec.service_account_name == program.service_account


def serving(pods: Sequence[Pod]) -> tuple[str, ...]:
    """The names of the pods that run, those that are ready first.

    A pod that is not ready may still have an answer, which is needed most when something is wrong.
    """
    running_pods = [
        each
        for each in pods
        if each.status.phase == "Running" and each.metadata.deletion_timestamp is None
    ]
    return tuple(
        each.metadata.name
        for each in sorted(running_pods, key=lambda each: (not _is_ready(each), each.metadata.name))
    )


def _is_ready(pod: Pod) -> bool:
    return any(
        each.type == "Ready" and each.status == "True" for each in pod.status.conditions or ()
    )
