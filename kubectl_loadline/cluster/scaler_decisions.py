"""The last decision on an autoscaler, from the running scaler."""

from kubectl_loadline.cluster.connecting import Session, Unreachable
from kubectl_loadline.cluster.deployments import RunningProgram
from kubectl_loadline.cluster.flags import Cluster
from kubectl_loadline.cluster.programs import pods_of, tunnel
from kubectl_loadline.cluster.server_identity import identity_of_scaler
from kubectl_loadline.decisions.last import read_decision
from wire.api.status import StatusError, Unavailable


async def decision_of(
    session: Session,
    cluster: Cluster,
    scaler: RunningProgram,
    autoscaler: str,
    *,
    skips_verification: bool = False,
) -> bytes:
    """The derivation as JSON, from the replica that decides on `autoscaler`. Raises `Unreachable`."""
    identity = None if skips_verification else await identity_of_scaler(session, scaler)
    problem = ""
    for pod in await pods_of(session, scaler):
        async with tunnel(session, scaler, pod) as forward:
            try:
                return await read_decision(
                    f"https://127.0.0.1:{forward.local_port}",
                    autoscaler,
                    cluster.used_kubeconfig,
                    None,
                    context=cluster.context,
                    ca_pem=identity.ca_pem if identity else None,
                    server_name=identity.server_name if identity else None,
                    insecure_skip_tls_verify=skips_verification,
                )
            except StatusError as error:
                problem = error.message
                if error.code in (401, 403):
                    problem += (
                        ". You need permission to get the autoscaler and the nonResourceURL /debug/decisions/*, which the "
                        f"ClusterRole {scaler.name}:why of the chart grants"
                    )
                    break
            except Unavailable as error:
                problem = forward.problem or error.message
    raise Unreachable(f"cannot get the decision from the {scaler}: {problem}")
