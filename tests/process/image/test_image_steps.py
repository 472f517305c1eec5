"""The image, built by the steps of its Dockerfile in a root directory, and both programs as their pods run them.

Without a container engine, the base image is replaced (`testbed/image/base.py`), and RLIMIT_DATA replaces the memory limit.
"""

import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from testbed import apiservices, ports
from testbed.cluster import Cluster
from testbed.helm import Helm
from testbed.image.build import Image, build
from testbed.image.container import Container, container_of_chart, start_container
from testbed.programs import LoadlineProcess
from testbed.prometheus import PrometheusServer

PROGRAMS = ("adapter", "scaler")
UNPRIVILEGED = {
    "CapPrm": "0000000000000000",
    "CapEff": "0000000000000000",
    "NoNewPrivs": "1",
}


class Pods(msgspec.Struct, frozen=True):
    """The containers of both charts, and their programs."""

    containers: dict[str, Container]
    programs: dict[str, LoadlineProcess]


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Image]:
    """Its 400 MB are deleted after the tests."""
    directory = tmp_path_factory.mktemp("image")
    yield build(directory)
    shutil.rmtree(directory)


@pytest.fixture(scope="module")
def pods(
    image: Image,
    cluster: Cluster,
    prometheus: PrometheusServer,
    namespace_of_module: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Pods]:
    directory, namespace = tmp_path_factory.mktemp("pods"), namespace_of_module
    helm, adapter, scaler = Helm(cluster, namespace), ports.reserve(), ports.reserve()
    values = {
        "listenPort": adapter,
        "service": {"type": "ExternalName", "externalName": "localhost", "port": adapter},
        "prometheus": {"url": "http://127.0.0.1", "port": prometheus.port},
    }
    helm.install("adapter", release="a", values=values)
    helm.install("scaler", release="s", values={"securePort": scaler})
    containers = {
        program: container_of_chart(
            image,
            cluster,
            f"{program[0]}-loadline-{program}",
            namespace=namespace,
            directory=directory / program,
        )
        for program in PROGRAMS
    }
    logs = {program: directory / f"{program}.log" for program in PROGRAMS}
    with (
        start_container(containers["adapter"], port=adapter, log_path=logs["adapter"]) as first,
        start_container(containers["scaler"], port=scaler, log_path=logs["scaler"]) as second,
    ):
        yield Pods(containers, {"adapter": first, "scaler": second})
    for release in helm.releases():
        helm.uninstall(release)


def process_status(program: LoadlineProcess) -> dict[str, str]:
    """What the kernel says of the process."""
    lines = Path(f"/proc/{program.process.pid}/status").read_text().splitlines()
    return {
        name: " ".join(value.split()) for name, _, value in (line.partition(":") for line in lines)
    }


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        pytest.param((), "loadline-adapter", id="entrypoint"),
        pytest.param(("/adapter",), "loadline-adapter", id="path in prometheus-adapter's image"),
        pytest.param(("loadline-adapter",), "loadline-adapter", id="adapter"),
        pytest.param(("loadline-scaler",), "loadline-scaler", id="scaler"),
    ],
)
def test_the_programs_show_their_version_and_help(image, command, shown):
    version = Container(image=image, command=command, arguments=("--version",)).run()
    assert re.fullmatch(rf"{shown} \d+\.\d+\.\d+\n", version.stdout), version.stderr
    help_ = Container(image=image, command=command, arguments=("--help",)).run()
    assert help_.stdout.startswith(f"usage: {shown}"), help_.stderr


@pytest.mark.parametrize("path", ["/file", "/opt/loadline/file", "/tmp/file"])
def test_nothing_is_writable_that_is_not_mounted(image, path):
    wrote = Container(image=image, command=("sh", "-c", f": > {path}")).run()
    assert wrote.returncode
    assert re.search("Read-only file system|Permission denied", wrote.stderr)


@pytest.mark.parametrize("module", ["adapter.commands.run_server", "scaler.runtime.run"])
def test_no_module_is_compiled_when_a_program_starts(image, module):
    shown = Container(
        image=image,
        command=("python", "-c", f"import {module}"),
        environment={"PYTHONVERBOSE": "1"},
    ).run()
    loaded = re.findall(r"^# code object from '?([^'\n]*)", shown.stderr, re.MULTILINE)
    assert len(loaded) > 300
    assert [path for path in loaded if not path.endswith(".pyc")] == []


def test_the_image_has_no_pip(image):
    assert Container(image=image, command=("python", "-m", "pip")).run().returncode
    assert Container(image=image, command=("pip", "--version")).run().returncode


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_is_ready_with_the_arguments_and_files_of_its_pod(pods, program):
    running = pods.programs[program]
    assert running.get("/readyz").status == 200
    assert not re.search("read-only|permission denied", running.process.log(), re.IGNORECASE)


def test_the_user_is_the_one_that_the_dockerfile_names(image):
    ids = Container(image=image, command=("awk", "/^[UG]id/ {print $2}", "/proc/self/status")).run()
    assert ids.stdout.split() == image.user.split(":") == ["10001", "10001"]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_has_no_privileges_and_cannot_get_any(pods, program):
    seen = process_status(pods.programs[program])
    assert {name: seen[name] for name in UNPRIVILEGED} == UNPRIVILEGED


@pytest.mark.parametrize("program", PROGRAMS)
def test_the_user_of_the_pod_is_that_of_the_image(pods, image, program):
    assert pods.containers[program].image.user == image.user


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_needs_less_memory_than_its_limit(pods, program):
    seen = process_status(pods.programs[program])
    allocated_bytes = int(seen["VmData"].removesuffix(" kB")) * 1024
    assert 0 < allocated_bytes < pods.containers[program].memory_bytes
    limits = Path(f"/proc/{pods.programs[program].process.pid}/limits").read_text()
    assert re.search(
        rf"^Max data size +{pods.containers[program].memory_bytes} ", limits, re.MULTILINE
    )


def test_kube_apiserver_reaches_the_adapter_with_the_certificate_that_it_manages(pods, cluster):
    apiservices.wait_until_available(cluster, "v1beta2.custom.metrics.k8s.io")


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_ends_without_an_error_when_its_pod_is_deleted(pods, program):
    """Runs last."""
    assert pods.programs[program].process.stop() == 0
