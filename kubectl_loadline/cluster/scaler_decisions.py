"""The last decision on an autoscaler, from the running scaler."""

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.cluster.programs import pods_of, tunnel
from kubectl_loadline.decisions.last import read_decision
from wire.api.status import StatusError, Unavailable


async def decision_of(
    session: Session, cluster: Cluster, scaler: RunningProgram, autoscaler: str
) -> bytes:
    """The derivation as JSON, from the replica that decides on `autoscaler`. Raises `Unreachable`."""
    problem = ""
    for pod in await pods_of(session, scaler):
        async with tunnel(session, scaler, pod) as forward:
            try:
                return await read_decision(
                    f"https://127.0.0.1:{forward.local_port}",
                    autoscaler,
                    cluster.kubeconfig,
                    None,
                    context=cluster.context,
                    # The API server forwards to this very pod.
                    insecure_skip_tls_verify=True,
                )
            except StatusError as error:
                problem = error.message
                if error.code in (401, 403):
                    problem += (
                        ". You need the right to get the nonResourceURL /debug/decisions/*, which the ClusterRole "
                        f"{scaler.name}:why of the chart grants"
                    )
                    break
            except Unavailable as error:
                problem = forward.problem or error.message
    raise Unreachable(f"the {scaler} has no decision for you: {problem}")
