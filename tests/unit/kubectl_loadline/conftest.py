"""Fixtures of the plugin's tests."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.unit.kubectl_loadline.api_server import HPAS, LAS, ApiServer, collection, within


@pytest.fixture
def api_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ApiServer]:
    """Without autoscalers, and named by $KUBECONFIG with the namespace `shop`."""
    with ApiServer(tmp_path) as serving:
        monkeypatch.setenv("KUBECONFIG", str(serving.kubeconfig))
        for path in (LAS, HPAS):
            serving.documents[path] = collection()
            serving.documents[within(path, "shop")] = collection()
        yield serving
