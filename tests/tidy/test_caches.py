"""Every cache has an answer in docs/architecture.md: what it saves, what bounds it, and when it is wrong."""

import ast
import re

from tests.tidy.test_house_rules import ROOT, python_files

CACHES = {"lru_cache", "LRUCache", "TTLCache", "SizedCache", "ReviewCache"}
PAGE = (ROOT / "docs/architecture.md").read_text("utf-8")
SECTION = PAGE.partition("\n## State and caches\n")[2].partition("\n## ")[0]
NAMED = set(re.findall(r"`([a-z_]+(?:\.[a-z_]+)*)`", SECTION))
PACKAGES = ("adapter", "scaler", "wire")


def names(path: str) -> set[str]:
    """As the section may name a module: the rows of a program leave out `adapter` or `scaler`."""
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    return {name} if name.startswith("wire.") else {name, name.partition(".")[2]}


def makes_a_cache(tree: ast.Module) -> bool:
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.name in CACHES or (node.module, alias.name) == ("functools", "cache")
    }
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    attributes = {
        (node.value.id, node.attr)
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name)
    }
    return bool(
        used & imported.keys()
        or attributes & {("functools", "lru_cache"), ("functools", "cache")}
        or any(module == "cachetools" for module, _ in attributes)
    )


def test_every_cache_is_in_the_table_of_caches():
    missing = [
        f"{path}: say in docs/architecture.md what it saves, what bounds it and when it is wrong, or remove it"
        for path, tree in python_files(*PACKAGES)
        if makes_a_cache(tree) and names(path).isdisjoint(NAMED)
    ]
    assert "\n".join(missing) == ""


def test_every_module_in_the_table_of_caches_exists():
    modules = {name for path, _ in python_files(*PACKAGES) for name in names(path)}
    assert sorted(name for name in NAMED - modules if "." in name) == []


def test_a_cache_by_any_name_is_found():
    for text in (
        "import functools\n@functools.cache\ndef f(): ...",
        "from functools import cache\n@cache\ndef f(): ...",
        "from functools import lru_cache\nkept = lru_cache(9)(f)",
        "from cachetools import TTLCache as Kept\nkept = Kept(1, 1)",
        "import cachetools\nkept = cachetools.LRUCache(1)",
    ):
        assert makes_a_cache(ast.parse(text)), text
    assert not makes_a_cache(ast.parse("from wire.kube import cache\ncache.WatchCache()"))
