"""The part of kubernetes-asyncio that reads a user's credentials. No other module imports the package.

The package imports every typed model, 900 modules, wherever one begins: that takes 0.3 s of processor time and 35 MiB, for each
command of `kubectl loadline` too. So the two packages above the part are not executed. A release that is organized
differently is imported as a whole.
"""

import sys
from importlib.util import find_spec, module_from_spec
from typing import Any, Final, NamedTuple

_PACKAGE: Final = "kubernetes_asyncio"
_CLIENT: Final = f"{_PACKAGE}.client"


class KubeconfigLibrary(NamedTuple):
    """Its classes, which have no types of their own."""

    configuration: Any
    loader: Any
    node: Any
    exec_provider: Any


def kubeconfig_library() -> KubeconfigLibrary:
    """Import it. Raises ImportError if it is not installed."""
    if _PACKAGE not in sys.modules:
        try:
            _leave_out_models()
            return _imported()
        except (ImportError, AttributeError):
            for name in [each for each in sys.modules if each.partition(".")[0] == _PACKAGE]:
                del sys.modules[name]
    return _imported()


def _leave_out_models() -> None:
    """Both packages are there without having been executed, and have the names that the part imports from them."""
    for name in (_PACKAGE, _CLIENT):
        spec = find_spec(name)
        if spec is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        sys.modules[name] = module_from_spec(spec)
    from kubernetes_asyncio.client.configuration import Configuration

    client: Any = sys.modules[_CLIENT]
    client.Configuration = Configuration
    client.ApiClient = None  # Of functions that are not called here.


def _imported() -> KubeconfigLibrary:
    from kubernetes_asyncio.client import Configuration
    from kubernetes_asyncio.config.exec_provider import ExecProvider
    from kubernetes_asyncio.config.kube_config import ConfigNode, KubeConfigLoader

    return KubeconfigLibrary(Configuration, KubeConfigLoader, ConfigNode, ExecProvider)
