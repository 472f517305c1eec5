"""Which credentials are used, where there are several."""

from pathlib import Path

import pytest

from tests.unit.wire.kube.test_connection import IN_CLUSTER
from wire.kube.chosen_context import CURRENT, ChosenContext
from wire.kube.cluster_access import ConnectionConfigError, ServiceAccount
from wire.kube.connection import access_source, kubectl_kubeconfig

TEXT = """
current-context: c
clusters: [{name: c, cluster: {server: "http://SERVER"}}]
contexts: [{name: c, context: {cluster: c}}]
"""
EMPTY = "apiVersion: v1\nkind: Config\nclusters: null\ncontexts: []\n"
POD = "the pod"


@pytest.fixture
def environ(tmp_path):
    """An environment with these files; `home` is the content of `~/.kube/config`, `variable` of `$KUBECONFIG`."""

    def of(*, home=None, variable=None, pod=True):
        made = {"HOME": str(tmp_path), **(IN_CLUSTER if pod else {})}
        if home is not None:
            (tmp_path / ".kube").mkdir()
            (tmp_path / ".kube" / "config").write_text(home)
        if variable is not None:
            made["KUBECONFIG"] = str(tmp_path / "variable")
            (tmp_path / "variable").write_text(variable)
        return made

    return of


async def used(kubeconfig, chosen, environ):
    source = access_source(kubeconfig, chosen, environ)
    return POD if isinstance(source, ServiceAccount) else (await source.read()).server


HOME, VARIABLE = TEXT.replace("SERVER", "home"), TEXT.replace("SERVER", "variable")


@pytest.mark.parametrize(
    ("files", "of_a_program", "of_kubectl"),
    [
        pytest.param({"home": HOME}, POD, "http://home", id="home, in a pod"),
        pytest.param({"home": HOME, "pod": False}, "http://home", "http://home", id="home"),
        pytest.param(
            {"home": HOME, "variable": VARIABLE}, "http://variable", "http://variable", id="both"
        ),
        pytest.param({"home": EMPTY}, POD, POD, id="an empty home, in a pod"),
        pytest.param({"variable": ""}, POD, POD, id="an empty variable, in a pod"),
        pytest.param({}, POD, POD, id="nothing, in a pod"),
    ],
)
async def test_kubectl_prefers_a_kubeconfig_and_a_program_its_pod(
    environ, files, of_a_program, of_kubectl
):
    given = environ(**files)
    assert await used(None, CURRENT, given) == of_a_program
    assert await used(kubectl_kubeconfig(given), CURRENT, given) == of_kubectl


@pytest.mark.parametrize(
    "chosen", [{"name": "c"}, {"cluster": "c"}, {"user": "u"}], ids=["context", "cluster", "user"]
)
async def test_a_chosen_entry_is_never_the_service_account_of_the_pod(environ, chosen):
    given = environ(home=HOME + "users: [{name: u, user: {}}]\n")
    assert await used(None, ChosenContext(**chosen), given) == "http://home"


@pytest.mark.parametrize("files", [{}, {"home": EMPTY}, {"variable": ""}])
async def test_a_chosen_entry_without_a_kubeconfig_is_an_error(environ, files):
    given = environ(**files)
    chosen = ChosenContext(name="c")
    for kubeconfig in (None, kubectl_kubeconfig(given)):
        with pytest.raises(
            ConnectionConfigError, match=r"context=c chooses|there is no context 'c'"
        ):
            access_source(kubeconfig, chosen, given)


async def test_an_unreadable_kubeconfig_does_not_become_the_pod(environ):
    given = environ(home="clusters: [")
    with pytest.raises(ConnectionConfigError, match=r"\.kube/config: "):
        access_source(kubectl_kubeconfig(given), CURRENT, given)


def test_several_files_of_kubectl_stay_several(tmp_path):
    assert kubectl_kubeconfig({"KUBECONFIG": "/a:/b"}) == Path("/a:/b")
