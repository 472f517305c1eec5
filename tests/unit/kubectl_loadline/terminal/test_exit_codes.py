"""How a command line of the plugin ends: exit codes, Ctrl-C, closed pipes, and what goes to stdout and to stderr."""

import io
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from kubectl_loadline.commands.check import exit_code
from kubectl_loadline.program import main
from tests.unit.kubectl_loadline.api_server import (  # fmt: skip
    HPAS,
    LAS,
    autoscaler,
    collection,
    unscalable,
    within,
)

PLUGIN = (sys.executable, "-m", "kubectl_loadline.program")


def environment(api_server):
    return {**os.environ, "KUBECONFIG": str(api_server.kubeconfig)}


def started(api_server, *arguments, **more):
    return subprocess.Popen(
        [*PLUGIN, *arguments],
        env=environment(api_server),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        **more,
    )


def test_ctrl_c_exits_with_130_and_prints_nothing(api_server):
    api_server.silent.add(within(LAS, "shop"))
    with started(api_server, "status", stdout=subprocess.PIPE) as process:
        api_server.requests.get(timeout=60)
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130


@pytest.fixture
def with_resources(api_server):
    """Which the page needs."""
    resources = {"kind": "APIResourceList", "groupVersion": "v1", "resources": []}
    api_server.documents |= {
        "/api": {"kind": "APIVersions", "versions": ["v1"]},
        "/api/v1": resources,
        "/apis": {"kind": "APIGroupList", "groups": []},
    }
    return api_server


def test_ctrl_c_closes_the_page_and_exits_with_130(with_resources):
    with started(with_resources, "ui", "--open=false", stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        address = process.stdout.readline().strip()
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130
    with pytest.raises(urllib.error.URLError, match="Connection refused"):
        urllib.request.urlopen(address, timeout=5)


def test_ctrl_c_ends_the_page_before_it_is_served(with_resources):
    with_resources.silent.add(LAS)
    with started(with_resources, "ui", "--open=false", stdout=subprocess.PIPE) as process:
        while with_resources.requests.get(timeout=60).path != LAS:
            pass
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 130


def test_sigterm_closes_the_page(with_resources):
    with started(with_resources, "ui", "--open=false", stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.stdout.readline()
        process.terminate()
        assert process.communicate(timeout=60) == ("", "")
    assert process.returncode == 0


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["status", "-o", "json"], id="more than a buffer"),
        pytest.param(["--help"], id="less than a buffer"),
    ],
)
def test_a_closed_pipe_ends_quietly(api_server, arguments):
    many = [autoscaler(f"web-{number}") for number in range(400)]
    api_server.documents[within(LAS, "shop")] = collection(*many)
    read, write = os.pipe()
    os.close(read)
    with started(api_server, *arguments, stdout=write) as process:
        os.close(write)
        assert process.communicate(timeout=60)[1] == ""
    assert process.returncode == 141


def test_a_wrong_flag_exits_with_2(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["status", "--outptu=json"])
    assert ended.value.code == 2
    assert "unknown flag --outptu: did you mean --output?" in capsys.readouterr().err


def test_what_cannot_be_read_exits_with_1_and_goes_to_stderr(api_server, capsys):
    api_server.refused |= {within(LAS, "shop"), within(HPAS, "shop")}
    assert main(["status"]) == 1
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "kubectl loadline status: cannot list" in printed.err


def test_that_there_is_nothing_is_a_message_and_no_result(api_server, capsys):
    assert main(["status"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "There are no LoadAutoscalers or HorizontalPodAutoscalers in the namespace shop" in printed.err  # fmt: skip


def test_problems_lists_what_has_a_problem_and_exits_with_3(api_server, capsys):
    api_server.documents[within(LAS, "shop")] = collection(autoscaler("web"), unscalable("api"))
    assert main(["status", "--problems"]) == 3
    printed = capsys.readouterr()
    assert "la/api" in printed.out
    assert "la/web" not in printed.out
    assert main(["status"]) == 0


def test_without_a_problem_problems_exits_with_0(api_server, capsys):
    api_server.documents[within(LAS, "shop")] = collection(autoscaler("web"))
    assert main(["status", "--problems"]) == 0
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "No autoscaler in the namespace shop has a problem." in printed.err


def test_a_kind_that_cannot_be_listed_may_have_a_problem(api_server, capsys):
    api_server.documents[within(LAS, "shop")] = collection(autoscaler("web"))
    api_server.refused.add(within(HPAS, "shop"))
    assert main(["status", "--problems"]) == 1
    assert "a kind is missing from the list" in capsys.readouterr().err


def test_problems_of_one_autoscaler_is_a_wrong_flag(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["status", "web", "--problems"])
    assert ended.value.code == 2


@pytest.mark.parametrize(
    ("of_adapter", "reads_all", "code"),
    [(0, True, 0), (1, True, 1), (2, True, 3), (2, False, 2)],
    ids=["valid", "not everything could be checked", "invalid", "not read"],
)
def test_check_exits_with_3_for_a_configuration_that_is_invalid(of_adapter, reads_all, code):
    assert exit_code(of_adapter, reads_all=reads_all) == code


@pytest.mark.parametrize("name", ["nothing.yaml", "."], ids=["missing", "a directory"])
def test_a_file_that_cannot_be_read_exits_with_2(name, api_server, tmp_path, capfd):
    file = tmp_path / name
    assert main(["check", str(file), "--prometheus-url=http://127.0.0.1:1"]) == 2
    assert f"{file}: cannot be read: " in capfd.readouterr().err


@pytest.mark.parametrize("has_file", [True, False])
def test_a_configuration_that_is_not_utf_8_exits_with_2(
    api_server, tmp_path, capfd, monkeypatch, has_file
):
    file = tmp_path / "config.yaml"
    file.write_text("rules: []  # é\n", "latin-1")
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(file.read_bytes())))
    name = str(file) if has_file else "-"
    assert main(["check", name, "--prometheus-url=http://127.0.0.1:1"]) == 2
    error = capfd.readouterr().err
    assert "cannot be read: it is not UTF-8" in error
    assert "Save it as UTF-8." in error


def test_an_invalid_file_is_found_by_the_adapter_itself(api_server, tmp_path, capfd):
    file = tmp_path / "config.yaml"
    file.write_text("rules: 5\n")
    assert main(["check", str(file), "--prometheus-url=http://127.0.0.1:1"]) == 3
    assert "[NoRules]" in capfd.readouterr().err
