"""The target's Scale subresource, of any resource that has one.

Upstream: `scaleForResourceMappings` and the first steps of `reconcileAutoscaler` (horizontal.go),
client-go's scale client. Of `scaleTargetRef.apiVersion` only the group is used.
"""

from collections.abc import Awaitable, Callable
from typing import Final
from urllib.parse import quote

import msgspec

from scaler.algorithm.observed import ScaleUnavailable, ScaleView
from scaler.algorithm.target_selector import excess_of_selector
from scaler.api.autoscaler import Autoscaler
from scaler.cluster.failed_requests import worded
from wire.api import kube_json
from wire.api.labels import Selector, from_label_selector, parse, through_label_selector
from wire.api.meta import LabelSelector, ObjectMeta
from wire.api.status import StatusError, Unavailable
from wire.kube.mapper import RestMapper
from wire.kube.mapping import GroupVersionResource
from wire.kube.requests import Reader

AUTOSCALING_V1: Final = "autoscaling/v1"
SCALE: Final = "Scale"

Read = Callable[[str], Awaitable["TargetScale"]]
"""The Scale at a path. Raises `StatusError`, `Unavailable`, `msgspec.DecodeError` and `ValueError`."""


class TargetScale(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A Scale and where it was read: `path` ends in `/namespaces/NAMESPACE/RESOURCE/NAME/scale`.

    `is_copy`: it was read in an earlier reconcile or by a LIST, and a watch shows that the target has not changed since.
    """

    path: str
    uid: str
    view: ScaleView
    is_copy: bool = False
    api_version: str = AUTOSCALING_V1
    """In which it is written, as it was read."""


def same_scale(
    copy: TargetScale | ScaleUnavailable, newest: TargetScale | ScaleUnavailable
) -> bool:
    """Whether the target has not changed."""
    return (
        isinstance(copy, TargetScale)
        and isinstance(newest, TargetScale)
        and (copy.uid, copy.view) == (newest.uid, newest.view)
    )


class ScaleSpec(msgspec.Struct, frozen=True):
    """The desired state."""

    replicas: int = 0


class ScaleStatus(msgspec.Struct, frozen=True, rename="camel"):
    """The current state. `selector` is the text form of the pods' label selector, or in extensions/v1beta1 and apps/v1beta1 its labels,
    where `target_selector` is the text form."""

    replicas: int = 0
    selector: str | dict[str, str] = ""
    target_selector: str = ""

    @property
    def selector_text(self) -> str:
        """Upstream: Convert_v1beta1_ScaleStatus_To_scale_ScaleStatus of client-go's scale client."""
        if isinstance(self.selector, str):
            return self.selector
        if self.target_selector:
            return self.target_selector
        return str(from_label_selector(LabelSelector(match_labels=self.selector)))


class Scale(msgspec.Struct, frozen=True, rename="camel"):
    """A Scale of autoscaling/v1, or of an older API, as OpenShift has for its DeploymentConfigs."""

    api_version: str = ""
    metadata: ObjectMeta = ObjectMeta()
    spec: ScaleSpec = ScaleSpec()
    status: ScaleStatus = ScaleStatus()


async def read_scale(
    kube: Reader, mapper: RestMapper, autoscaler: Autoscaler
) -> TargetScale | ScaleUnavailable:
    """Read it from the API server: see `read_scale_by`."""

    async def read(path: str) -> TargetScale:
        return decoded_scale(path, await kube.get(path))

    return await read_scale_by(read, mapper, autoscaler)


async def read_scale_by(
    read: Read, mapper: RestMapper, autoscaler: Autoscaler
) -> TargetScale | ScaleUnavailable:
    """Read it by the target's REST mappings, in order: the first success wins, else the first error is reported."""
    namespace, ref = autoscaler.metadata.namespace, autoscaler.spec.scale_target_ref
    reference = f"{ref.kind}/{namespace}/{ref.name}"
    try:
        group = group_of(ref.api_version)
    except ValueError as error:
        return ScaleUnavailable(
            message=str(error),
            context="invalid API version in scale target reference",
            spec_error=True,
        )
    try:
        resources = await resources_of(mapper, group, ref.kind)
    except LookupError as error:
        return ScaleUnavailable(
            message=str(error), context="unable to determine resource for scale target reference"
        )
    first_error = "unrecognized resource"
    for index, resource in enumerate(resources):
        try:
            return await read(scale_path(resource, namespace, ref.name))
        except (StatusError, Unavailable) as error:
            if index == 0:
                first_error = worded(error, verb="get", resource=resource.resource, name=ref.name)
        except msgspec.DecodeError as error:
            if index == 0:
                first_error = f"the scale of {resource.resource} {ref.name!r} is malformed: {error}"
        except ValueError as error:
            if index == 0:
                first_error = str(error)
    return ScaleUnavailable(
        message=first_error, context=f"failed to query scale subresource for {reference}"
    )


def group_of(api_version: str) -> str:
    """The group of `group/version`; empty for the core API. Upstream: schema.ParseGroupVersion."""
    if api_version.count("/") > 1:
        raise ValueError(f"unexpected GroupVersion string: {api_version}")
    group, slash, _ = api_version.partition("/")
    return group if slash else ""


async def resources_of(mapper: RestMapper, group: str, kind: str) -> list[GroupVersionResource]:
    """The resources of a kind, each once and in its preferred version. Raises `LookupError`."""
    try:
        found = mapper.resources_for_kind(group, kind)
    except LookupError:
        # The CRD may be newer than the last discovery.
        if not await mapper.refresh_after_miss():
            raise
        found = mapper.resources_for_kind(group, kind)
    names = dict.fromkeys((resource.name, resource.group) for resource in found)
    return [mapper.resource_for(name, of_group) for name, of_group in names]


def scale_path(resource: GroupVersionResource, namespace: str, name: str) -> str:
    """Of the Scale of one object."""
    return f"{resource.path(namespace)}/{quote(name, safe='')}/scale"


def decoded_scale(path: str, body: bytes) -> TargetScale:
    """Raises `msgspec.DecodeError`, and `ValueError` for a selector that client-go's scale client does not take."""
    return viewed(path, kube_json.decode(kube_json.of_kind(body, SCALE), Scale))


def viewed(path: str, scale: Scale) -> TargetScale:
    """Raises `ValueError` for a selector that client-go's scale client does not take."""
    return TargetScale(
        path=path,
        uid=scale.metadata.uid,
        api_version=scale.api_version or AUTOSCALING_V1,
        view=ScaleView(
            spec_replicas=scale.spec.replicas,
            status_replicas=scale.status.replicas,
            selector=_converted(scale.status.selector_text),
            resource_version=scale.metadata.resource_version,
        ),
    )


def _converted(selector: str) -> str:
    """The selector's text after client-go's scale client has converted it to a LabelSelector and back.

    A LabelSelector has no `!=`, `<` and `>`: a target with one of them cannot be scaled. One that is too long to be
    used is not read at all.
    """
    if not selector or excess_of_selector(selector):
        return selector
    try:
        return str(through_label_selector(_parsed(selector)))
    except ValueError as error:
        raise ValueError(
            "received an object from a /scale endpoint which was not convertible to autoscaling Scale: "
            f"failed to parse target selector: {error}"
        ) from error


def _parsed(selector: str) -> Selector:
    try:
        return parse(selector)
    except ValueError as error:
        raise ValueError(f'couldn\'t parse the selector string "{selector}": {error}') from error
