"""Finds the scaler and the adapter in the cluster and forwards a local port to their pods.

The user's credentials are sent to the pod, as the API server sends them to no other program. A label alone must
therefore not be enough to receive them: unless the user names the Deployment, its service account must be one that the
cluster allows to verify tokens (create `tokenreviews`), which a team cannot give to its own pods.
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
    reconciles,
    running,
    serving,
)
from kubectl_loadline.cluster.flags import environment_variable
from kubectl_loadline.cluster.port_forward import ForwardedPort, forwarded
from scaler.api.kinds import HORIZONTAL_POD_AUTOSCALERS, WatchedKind
from wire.api.labels import from_label_selector
from wire.api.status import StatusError, Unavailable
from wire.kube.client import decoded

REVIEWS: Final = "/apis/authorization.k8s.io/v1/subjectaccessreviews"


class _ReviewStatus(msgspec.Struct, frozen=True):
    allowed: bool = False


class _Review(msgspec.Struct, frozen=True):
    status: _ReviewStatus = _ReviewStatus()


async def adapter_of(session: Session, named: str) -> RunningProgram:
    """The adapter: `named` (NAMESPACE/NAME), or the only Deployment with the labels of the chart.

    Raises `Unreachable`, and `Unavailable` if the API server does not respond.
    """
    return await _only(session, "adapter", await _installed(session, "adapter", named), named)


async def scaler_of(
    session: Session, kind: WatchedKind, namespace: str, named: str
) -> RunningProgram:
    """The scaler that reconciles this kind in this namespace, found and refused as the adapter is."""
    installed = await _installed(session, "scaler", named)
    found = [each for each in installed if reconciles(each, kind, namespace)]
    if not found:
        names = " and the ".join(map(str, installed))
        verb = "do" if len(installed) > 1 else "does"
        reason = (
            "; kube-controller-manager does, unless you have switched its HPA controller off"
            if kind is HORIZONTAL_POD_AUTOSCALERS
            else ": see its flags --watch and --namespace"
        )
        raise Unreachable(
            f"the {names} {verb} not reconcile {kind.kind}s of the namespace {namespace}{reason}"
        )
    return await _only(session, "scaler", found, named)


async def _installed(session: Session, program: str, named: str) -> Sequence[RunningProgram]:
    named = named or os.environ.get(environment_variable(program), "")
    if named:
        return (await _named(session, program, named),)
    found = running(await _labelled(session, program), program)
    if not found:
        raise Unreachable(
            f"no Deployment with the label {LABELS} runs loadline-{program}: install charts/{program}, "
            f"or name the Deployment with --{program}=NAMESPACE/NAME"
        )
    return found


async def _only(
    session: Session, program: str, found: Sequence[RunningProgram], named: str
) -> RunningProgram:
    if len(found) > 1:
        names = ", ".join(f"{each.namespace}/{each.name}" for each in found)
        raise Unreachable(
            f"several Deployments run loadline-{program}: choose one of {names} with --{program}=NAMESPACE/NAME"
        )
    if not named and environment_variable(program) not in os.environ:
        await _require_trust(session, found[0])
    return found[0]


async def pods_of(session: Session, program: RunningProgram) -> tuple[str, ...]:
    """The pods that run, those that are ready first. Raises `Unreachable` if there are none."""
    path = f"/api/v1/namespaces/{program.namespace}/pods"
    selector = str(from_label_selector(program.selector))
    try:
        body = await session.client.get(path, {"labelSelector": selector})
    except StatusError as error:
        raise Unreachable(
            f"cannot list the pods of the {program}: {error.message}. "
            f"You need the right to list pods in the namespace {program.namespace}."
        ) from error
    names = serving(decoded(body, PodList, what="PodList").items)
    if not names:
        raise Unreachable(
            f"the {program} has no running pod: kubectl -n {program.namespace} describe deployment {program.name}"
        )
    return names


@contextlib.asynccontextmanager
async def tunnel(
    session: Session, program: RunningProgram, pod: str
) -> AsyncIterator[ForwardedPort]:
    """A local port that is forwarded to `pod`. Raises `Unreachable`."""
    if not program.port:
        raise Unreachable(f"the {program} does not serve: its flag --secure-port is 0")
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
                f"cannot reach the {program}: {error.message}. You need the rights to get and create "
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
            f"no container of the Deployment {named} has the command loadline-{program}"
        )
    return found[0]


async def _labelled(session: Session, program: str) -> tuple[Deployment, ...]:
    try:
        body = await session.client.get("/apis/apps/v1/deployments", {"labelSelector": LABELS})
    except StatusError as error:
        raise Unreachable(
            f"cannot find the {program}: {error.message}. Name its Deployment with --{program}=NAMESPACE/NAME "
            f"or ${environment_variable(program)}."
        ) from error
    return decoded(body, DeploymentList, what="DeploymentList").items


async def _require_trust(session: Session, program: RunningProgram) -> None:
    """Raises `Unreachable` unless the service account of the program may verify tokens."""
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
    confirm = (
        f"If it is the {program.program} of your cluster, confirm it with --{program.program}="
        f"{program.namespace}/{program.name} or ${environment_variable(program.program)}."
    )
    try:
        answer = await session.client.create(REVIEWS, msgspec.json.encode(body))
    except StatusError as error:
        raise Unreachable(
            f"the {program} would receive your credentials, and whether it may cannot be verified: {error.message}. {confirm}"
        ) from error
    if not decoded(answer, _Review, what="SubjectAccessReview").status.allowed:
        raise Unreachable(
            f"the {program} would receive your credentials, but its service account {account} may not create "
            f"tokenreviews, so it does not look like the {program.program}. {confirm}"
        )
