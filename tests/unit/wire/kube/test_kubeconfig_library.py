"""What is imported to read a kubeconfig."""

import os
import subprocess
import sys
from pathlib import Path

from tests.documented_blocks import ROOT

PRINT_MODULES = (
    "import sys; from wire.kube.kubeconfig_library import kubeconfig_library;"
    " library = kubeconfig_library();"
    " print(library.configuration.__name__, *(n for n in sys.modules if 'kubernetes_asyncio' in n))"
)
# Another release: what is imported alone today is part of a package that must be executed.
OTHER_RELEASE = {
    "__init__.py": "",
    "client/__init__.py": "class Configuration: pass",
    "config/__init__.py": "",
    "config/exec_provider.py": "class ExecProvider: pass",
    "config/kube_config.py": (
        "from kubernetes_asyncio.client import Configuration\nclass ConfigNode: pass\n"
        "class KubeConfigLoader: pass"
    ),
}


def imported(*paths: Path) -> list[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (*paths, ROOT)))}
    done = subprocess.run(
        [sys.executable, "-c", PRINT_MODULES], env=environment, capture_output=True, text=True,
        check=True,
    )  # fmt: skip
    return done.stdout.split()


def test_the_typed_models_are_not_imported():
    name, *modules = imported()
    assert name == "Configuration"
    assert "kubernetes_asyncio.config.kube_config" in modules
    assert "kubernetes_asyncio.client.configuration" in modules
    assert not [each for each in modules if "models" in each or ".api" in each]


def test_a_release_that_is_organized_differently_is_imported_as_a_whole(tmp_path):
    for path, text in OTHER_RELEASE.items():
        file = tmp_path / "kubernetes_asyncio" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    name, *modules = imported(tmp_path)
    assert name == "Configuration"
    assert "kubernetes_asyncio.client" in modules
