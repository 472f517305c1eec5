"""Finds the scaler and the adapter in the cluster and forwards a local port to their pods.

The adapter is what the APIServices of the metrics APIs lead to. The scaler has the label of the chart, which any team can give to a
Deployment: unless the user names it, its service account must be one that the cluster allows to verify tokens (create
`tokenreviews`). Whether credentials may be sent to a pod is decided in `server_identity`.
"""

import contextlib
import os
from collections.abc import AsyncIterator, Sequence
from typing import Final
from urllib.parse import quote

import msgspec

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import (
    LABELS,
    Deployment,
    DeploymentList,
    PodList,
    RunningProgram,
    belongs_to,
    reconciles,
    running,
    serving,
    watches,
)
from kubectl_loadline.cluster.flags import environment_variable
from kubectl_loadline.cluster.port_forward import ForwardedPort, forwarded
from kubectl_loadline.cluster.registrations import registered_adapters
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, WatchedKind
from wire.api.labels import from_label_selector
from wire.api.status import StatusError, Unavailable
from wire.kube.client import decoded

REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


class ScaledByKubernetes(Unreachable):
    """kube-controller-manager scales the HPAs of a namespace, unless its HPA controller is disabled."""


async def adapter_of(session: Session, named: str) -> RunningProgram:
    """The adapter: `named` (NAMESPACE/NAME), or the only Deployment that the APIServices of the metrics APIs lead to.

    Raises `Unreachable`, and `Unavailable` if the API server does not respond.
    """
    named = named or os.environ.get(environment_variable("adapter"), "")
    if named:
        return await _named(session, "adapter", named)
    try:
        found = await registered_adapters(session)
    except Unreachable as error:
        raise Unreachable(f"{error} Or name its Deployment with {_flag('adapter')}.") from error
    if not found:
        raise Unreachable(
            "no APIService of a metrics API points to a Deployment that runs loadline-adapter: install charts/adapter, "
            f"or name the Deployment with {_flag('adapter')}"
        )
    return _only("adapter", found)


async def scaler_of(
    session: Session, kind: WatchedKind, namespace: str, named: str
) -> RunningProgram:
    """The scaler that reconciles this kind in this namespace: `named`, or the only Deployment with the labels of the chart whose
    service account may verify tokens. Raises as `adapter_of`.
    """
    named = named or os.environ.get(environment_variable("scaler"), "")
    installed = (
        (await _named(session, "scaler", named),) if named else await _labelled_scalers(session)
    )
    found = [each for each in installed if reconciles(each, kind, namespace)]
    if not found:
        names = " and the ".join(map(str, installed))
        verb = "do" if len(installed) > 1 else "does"
        reason = (
            "; kube-controller-manager does, unless its HPA controller is disabled"
            if kind is HORIZONTAL_POD_AUTOSCALERS
            else ": check its flags --watch and --namespace"
        )
        watched = any(watches(each, kind) for each in installed)
        problem = Unreachable if named or watched else ScaledByKubernetes
        raise problem(
            f"the {names} {verb} not reconcile {kind.kind}s in the namespace {namespace}{reason}"
        )
    return _only("scaler", found if named else await _trusted(session, found))


async def _labelled_scalers(session: Session) -> Sequence[RunningProgram]:
    found = running(await _labelled(session), "scaler")
    if not found:
        raise Unreachable(
            f"no Deployment with the label {LABELS} runs loadline-scaler: install charts/scaler, "
            f"or name the Deployment with {_flag('scaler')}"
        )
    return found


def _only(program: str, found: Sequence[RunningProgram]) -> RunningProgram:
    if len(found) > 1:
        names = ", ".join(f"{each.namespace}/{each.name}" for each in found)
        raise Unreachable(
            f"several Deployments run loadline-{program}: choose one of {names} with {_flag(program)}"
        )
    return found[0]


def _flag(program: str) -> str:
    return f"--{program}=NAMESPACE/NAME or ${environment_variable(program)}"


async def pods_of(session: Session, program: RunningProgram) -> tuple[str, ...]:
    """The pods of the program that run, those that are ready first. Raises `Unreachable` if there are none."""
    path = f"/api/v1/namespaces/{program.namespace}/pods"
    selector = str(from_label_selector(program.selector))
    try:
        body = await session.client.get(path, {"labelSelector": selector})
    except StatusError as error:
        raise Unreachable(
            f"cannot list the pods of the {program}: {error.message}. "
            f"You need permission to list pods in the namespace {program.namespace}."
        ) from error
    found = decoded(body, PodList, what="PodList").items
    names = serving([each for each in found if belongs_to(each, program)])
    if not names:
        others = (
            "; the running pods with its labels are not owned by it, or use another service account"
            if serving(found)
            else ""
        )
        raise Unreachable(
            f"the {program} has no running pods{others}: run kubectl -n {program.namespace} describe deployment {program.name}"
        )
    return names


@contextlib.asynccontextmanager
async def tunnel(
    session: Session, program: RunningProgram, pod: str
) -> AsyncIterator[ForwardedPort]:
    """A local port that is forwarded to `pod`. Raises `Unreachable`."""
    if not program.port:
        raise Unreachable(f"the {program} does not listen on any port: its flag --secure-port is 0")
    async with contextlib.AsyncExitStack() as stack:
        try:
            forward = await stack.enter_async_context(
                forwarded(
                    session.connection,
                    namespace=program.namespace,
                    pod=pod,
                    port=program.port,
                )
            )
        except StatusError as error:
            raise Unreachable(
                f"cannot reach the {program}: {error.message}. You need permission to get and create "
                f"pods/portforward in the namespace {program.namespace}."
            ) from error
        except Unavailable as error:
            raise Unreachable(f"cannot reach the {program}: {error.message}") from error
        yield forward


async def _named(session: Session, program: str, named: str) -> RunningProgram:
    namespace, slash, name = named.partition("/")
    if not slash or not namespace or not name or "/" in name:
        raise ValueError(f"{named!r} is not a Deployment: write --{program}=NAMESPACE/NAME")
    path = (
        f"/apis/apps/v1/namespaces/{quote(namespace, safe='')}/deployments/{quote(name, safe='')}"
    )
    try:
        body = await session.client.get(path)
    except StatusError as error:
        raise Unreachable(f"cannot read the Deployment {named}: {error.message}") from error
    found = running([decoded(body, Deployment, what="Deployment")], program)
    if not found:
        raise Unreachable(
            f"no container of the Deployment {named} runs the command loadline-{program}"
            + (
                ", or has no command and an image with loadline in its name"
                if program == "adapter"
                else ""
            )
        )
    return found[0]


async def _labelled(session: Session) -> tuple[Deployment, ...]:
    try:
        body = await session.client.get("/apis/apps/v1/deployments", {"labelSelector": LABELS})
    except StatusError as error:
        raise Unreachable(
            f"cannot find the scaler: {error.message}. Name its Deployment with {_flag('scaler')}."
        ) from error
    return decoded(body, DeploymentList, what="DeploymentList").items


async def _trusted(session: Session, found: Sequence[RunningProgram]) -> Sequence[RunningProgram]:
    """Those whose service account may verify tokens, which a team cannot allow its own pods. Raises `Unreachable` if none may.

    The others do not count, so that a Deployment of the same label cannot turn the search off.
    """
    names = " and the ".join(map(str, found))
    confirm = "If it is the scaler of your cluster, confirm it with " + " or ".join(
        f"--scaler={each.namespace}/{each.name}" for each in found
    )
    try:
        trusted = [each for each in found if await _may_verify_tokens(session, each)]
    except StatusError as error:
        raise Unreachable(
            f"cannot check whether the {names} may create tokenreviews, as the scaler does: {error.message}. {confirm}."
        ) from error
    if not trusted:
        raise Unreachable(
            f"the service account of the {names} may not create tokenreviews, so it does not look like the scaler. {confirm}."
        )
    return trusted


async def _may_verify_tokens(session: Session, program: RunningProgram) -> bool:
    namespace, account = program.namespace, program.service_account
    groups = ["serviceaccounts", f"serviceaccounts:{namespace}", "authenticated"]
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SubjectAccessReview",
        "spec": {
            "user": f"system:serviceaccount:{namespace}:{account}",
            "groups": [f"system:{group}" for group in groups],
            "resourceAttributes": {
                "verb": "create",
                "group": "authentication.k8s.io",
                "resource": "tokenreviews",
            },
        },
    }
    answer = await session.client.create(REVIEWS, msgspec.json.encode(body))
    return decoded(answer, _Review, what="SubjectAccessReview").status.allowed
