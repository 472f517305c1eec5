"""The connections between a scaler and the adapter beside kube-apiserver: bytes in memory, read along for the journal.

What passes is HTTP/1.1 of both programs. The scaler sends a token that is for the adapter only, which kube-apiserver reviews.
"""

import asyncio
import base64
from collections.abc import Callable

import msgspec

from tests.simulation import metrics_apis
from tests.simulation.cluster import Cluster, Document
from tests.simulation.journal import Journal, Measurement, Served, TargetRequest
from tests.simulation.metrics_apis import GROUPS, Measured, metric_of
from tests.simulation.network import Request, Response, whole_request, whole_response
from tests.simulation.rights import SCALER
from tests.simulation.sockets import Call, SocketEnd
from tests.simulation.streams import Stream, Streamed
from tests.simulation.timeline import Listening, ProcessLoop, Timeline

PORT = 7443
SWITCHING_PROTOCOLS = 101
SERVICE = ("monitoring", "loadline-adapter")
HOST = f"{SERVICE[1]}.{SERVICE[0]}.svc"


def token() -> str:
    """A token of the scaler for the adapter, as a JSON Web Token; nothing in the model verifies a signature."""
    parts = (msgspec.json.encode({"alg": "none"}), msgspec.json.encode({"aud": [HOST]}), b"scaler")
    return ".".join(base64.urlsafe_b64encode(each).decode().rstrip("=") for each in parts)


def register(cluster: Cluster, groups: tuple[str, ...], ca_pem: bytes) -> None:
    """The APIServices of the adapter, by which the scaler finds it."""
    services = cluster.add("apiregistration.k8s.io/v1", "APIService", "apiservices")
    for group in groups:
        spec = {
            "service": {"namespace": SERVICE[0], "name": SERVICE[1], "port": 443},
            "caBundle": base64.b64encode(ca_pem).decode(),
            "group": group,
            "version": GROUPS[group],
        }
        services.create(
            {"metadata": {"namespace": "", "name": f"{GROUPS[group]}.{group}"}, "spec": spec}
        )


class DirectConnections:
    """What the network of each scaler uses for the adapter's port."""

    def __init__(
        self,
        timeline: Timeline,
        journal: Journal,
        listening: Callable[[], Listening | None],
        accepted: Callable[[SocketEnd], object],
    ) -> None:
        self.timeline = timeline
        self.journal = journal
        self.accepted = accepted
        self._listening = listening
        self._open: list[_Direct] = []
        self.hangs = False
        """Whether nothing arrives."""

    def connect(
        self, loop: ProcessLoop, protocol: asyncio.Protocol, process: str
    ) -> SocketEnd | None:
        """The end of the scaler; None if the connection is refused."""
        direct = _Direct(self, loop, protocol, process)
        if not self.hangs and not direct.call.connect(self._listening(), "10.0.0.3"):
            return None
        self._open = [each for each in self._open if each.end.is_open]
        self._open.append(direct)
        return direct.end

    def cut_all(self) -> None:
        """Every connection ends."""
        for each in self._open:
            each.end.cut()


class _Direct:
    """One connection, with the request that is on it."""

    def __init__(
        self, shared: DirectConnections, loop: ProcessLoop, protocol: asyncio.Protocol, process: str
    ) -> None:
        self._shared = shared
        self._process = process
        self._sent = self._received = b""
        self._request: Request | None = None
        self.end = SocketEnd(loop, protocol, shared.timeline, self._from_scaler)
        self.call = Call(
            shared.timeline,
            received=self._from_adapter,
            closed=self._closed,
            accepted=shared.accepted,
        )
        self.end.on_closed.append(self._hung_up)
        self._stream: Stream | None = None
        """After the request to watch metrics."""

    def _from_scaler(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.sent(data, self._shared.timeline.now)
            if not self._shared.hangs:
                self.call.send(data)
            return
        self._sent += data
        request, self._sent = whole_request(self._sent, self._process, self._shared.timeline.now)
        if request is not None:
            self._request = request
            self._note_request(request)
        if not self._shared.hangs:
            self.call.send(data)

    def _from_adapter(self, data: bytes) -> None:
        if self._shared.hangs:
            return
        if self._stream is not None:
            self._stream.received(data, self._shared.timeline.now)
            self.end.send(data)
            return
        self._received += data
        response, self._received = whole_response(self._received)
        if response is not None and response.status == SWITCHING_PROTOCOLS:
            self._stream = Stream(self._note_streamed)
            self._stream.received(self._received, self._shared.timeline.now)
        elif response is not None:
            self._note_response(response)
        self.end.send(data)

    def _closed(self) -> None:
        if not self._shared.hangs:
            self.end.closed_by_other_side()

    def _hung_up(self) -> None:
        self._note_response(None)
        self.call.hang_up()

    def _note_request(self, request: Request) -> None:
        measured = metric_of(request)
        if measured is not None:
            key = self._process, measured.target, measured.group
            self._shared.journal.direct_requests[key].append(request.sent_at)
            self._shared.journal.target_requests.append(
                TargetRequest(
                    at=request.sent_at,
                    process=self._process,
                    target=measured.target,
                    group=measured.group,
                    is_direct=True,
                )
            )

    def _note_streamed(self, streamed: Streamed) -> None:
        now, journal, measured = self._shared.timeline.now, self._shared.journal, streamed.measured
        journal.measurements.append(
            Measurement(
                at=now, process=self._process, target=measured.target, group=measured.group, document=streamed.document,
                value=metrics_apis.total(streamed.document), sent_at=streamed.sent_at, is_streamed=True,
            )
        )  # fmt: skip
        if not streamed.is_new:
            return
        journal.say(now, f"{self._process} gets {streamed.code} streamed for {measured.target}")
        journal.served.append(
            Served(
                at=now, sent_at=streamed.sent_at, user=SCALER, namespace=measured.namespace, group=measured.group,
                target=measured.target, status=streamed.code, document=streamed.document, is_streamed=True,
            )
        )  # fmt: skip

    def _note_response(self, response: Response | None) -> None:
        request, self._request = self._request, None
        measured = metric_of(request) if request is not None else None
        if request is None or measured is None:
            return
        now, journal = self._shared.timeline.now, self._shared.journal
        document = _document(measured, response)
        journal.measurements.append(
            Measurement(
                at=now, process=self._process, target=measured.target, group=measured.group,
                document=document, value=metrics_apis.total(document), sent_at=request.sent_at,
                was_cut=response is None,
            )
        )  # fmt: skip
        journal.say(
            now,
            f"{self._process} gets {response and response.status} directly for {request.target}",
        )
        if response is not None:
            journal.served.append(
                Served(
                    at=now, sent_at=request.sent_at, user=SCALER, namespace=measured.namespace,
                    group=measured.group, target=measured.target, status=response.status, document=document,
                )
            )  # fmt: skip


def _document(measured: Measured, response: Response | None) -> Document | None:
    return metrics_apis.decoded(measured, response.body) if response and response.ok else None
