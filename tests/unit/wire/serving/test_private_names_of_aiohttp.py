"""`wire.serving.http_connection` uses names of aiohttp and yarl that are not documented: this fails first when a release changes them.

Then compare `aiohttp.web_protocol.RequestHandler`, or the caches of `yarl`, of both releases before the upper bound in
pyproject.toml is raised.
"""

import ast
import inspect
import re
from importlib.metadata import version
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.streams import EMPTY_PAYLOAD, EmptyStreamReader
from yarl import URL

from wire.serving import http_connection
from wire.serving.http_connection import HTTPConnection

ATTRIBUTES = {
    "_buffer_paused", "_loop", "_messages", "_parser", "_payload_parser", "_request_count", "_request_factory", "_request_in_progress",
    "_task_handler",
}  # fmt: skip
METHODS = {
    "connection_made": ("self", "transport"),
    "connection_lost": ("self", "exc"),
    "data_received": ("self", "data"),
    "pause_writing": ("self",),
    "resume_writing": ("self",),
    "finish_response": ("self", "request", "resp", "start_time"),
    "_resume_reading_if_drained": ("self",),
    "handle_error": ("self", "request", "status", "exc", "message"),
}
ROOT = Path(__file__).resolve().parents[4]


def slots(of: type) -> set[str]:
    return {name for each in of.__mro__ for name in getattr(each, "__slots__", ())}


def test_the_attributes_exist_and_no_other_one_is_used():
    tree = ast.parse(inspect.getsource(http_connection))
    named = {
        each.attr
        for each in ast.walk(tree)
        if isinstance(each, ast.Attribute)
        and isinstance(each.value, ast.Name)
        and each.value.id == "self"
    }
    of_aiohttp = {name for name in named & slots(web.RequestHandler) if name.startswith("_")}
    assert of_aiohttp == ATTRIBUTES


@pytest.mark.parametrize("name", METHODS)
def test_the_overridden_methods_have_the_same_parameters(name):
    parameters = tuple(inspect.signature(getattr(web.RequestHandler, name)).parameters)
    assert parameters == METHODS[name]
    assert name in vars(HTTPConnection)


@pytest.mark.parametrize("name", ["_drain_helper", "_pause_reading_for_buffer"])
def test_the_called_methods_exist_and_need_no_arguments(name):
    assert tuple(inspect.signature(getattr(web.RequestHandler, name)).parameters) == ("self",)


def test_a_message_is_queued_with_its_body():
    """`_messages[-1][1]` is the body, which `EMPTY_PAYLOAD` stands for before."""
    source = inspect.getsource(web.RequestHandler.data_received)
    assert re.search(r"for \w+, \w+ in messages", source) or "_messages.append" in source
    assert isinstance(EMPTY_PAYLOAD, EmptyStreamReader)


def test_no_cache_of_yarl_keeps_a_url_that_is_forgotten():
    caches = http_connection._URL_CACHES
    assert {"encode_url", "pre_encoded_url", "build_pre_encoded_url"} <= {
        each.__name__ for each in caches
    }
    URL("http://host/a b").with_path("/long")
    URL.build(path="/long", encoded=True)
    assert any(each.cache_info().currsize for each in caches)
    http_connection._forget_urls()
    assert not any(each.cache_info().currsize for each in caches)


@pytest.mark.parametrize("package", ["aiohttp", "yarl"])
def test_the_installed_release_is_below_the_upper_bound(package):
    dependency = rf'"{package}>=[\d.]+,<(\d+)\.(\d+)"'
    bound = re.search(dependency, (ROOT / "pyproject.toml").read_text())
    assert bound is not None
    installed = tuple(int(part) for part in version(package).split(".")[:2])
    assert installed < (int(bound[1]), int(bound[2]))
