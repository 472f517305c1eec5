"""The documentation site, apart from its build in `make site`: links out of docs/, and lists that must be complete."""

import re
from pathlib import Path

import pytest
import yaml
from mkdocs.config import load_config
from mkdocs.structure.files import File
from mkdocs.structure.pages import Page

from testbed.documentation_site import location, on_config, relinked

ROOT = Path(__file__).parents[2]


class Lenient(yaml.SafeLoader):
    """Reads mkdocs.yml, in which MkDocs replaces variables."""


Lenient.add_constructor("!ENV", lambda *_: "")


@pytest.mark.parametrize(
    ("page", "text", "expected"),
    [
        pytest.param("README.md", "[a](docs/charts.md#b)", "[a](charts.md#b)", id="from the front page"),
        pytest.param("docs/charts.md", "[a](../CHANGELOG.md)", "[a](changelog.md)", id="to a page outside"),
        pytest.param("docs/charts.md", "[a](../Dockerfile)", "[a](source/Dockerfile)", id="to a source"),
        pytest.param("docs/adr/0001-a.md", "[a](../adapter.md)", "[a](../adapter.md)", id="from a folder"),
        pytest.param("docs/architecture.md", "[a](adr/)", "[a](adr/README.md)", id="to a folder"),
        pytest.param("docs/charts.md", "[a](https://x/y) [b](#c)", "[a](https://x/y) [b](#c)", id="unchanged"),
    ],
)  # fmt: skip
def test_a_link_of_the_checkout_becomes_a_link_of_the_site(page, text, expected):
    assert relinked(text, page=page) == expected


def test_every_page_is_in_the_navigation():
    navigation = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    docs = ROOT / "docs"
    found = [*docs.glob("*.md"), *docs.glob("reference/*.md")]
    pages = [path.relative_to(ROOT).as_posix() for path in found]
    missing = [page for page in pages if f": {location(page)}" not in navigation]
    assert missing == []


@pytest.mark.parametrize(
    ("repository", "expected"),
    [
        ("", None),
        ("https://git.example.com/a/b", "https://git.example.com/a/b/edit/main/docs/keda.md"),
    ],
)
def test_a_page_can_be_edited_where_the_site_is_published_from_a_repository(
    monkeypatch, repository, expected
):
    monkeypatch.setenv("REPOSITORY_URL", repository)
    config = on_config(load_config(str(ROOT / "mkdocs.yml")))
    file = File("keda.md", config.docs_dir, config.site_dir, use_directory_urls=False)
    assert Page(None, file, config).edit_url == expected
    assert config.copyright == "Loadline 0.1.0"


GUIDE_LINES_MAX = 150
README_LINES_MAX = 120


def test_a_guide_is_short():
    """It is about one task. What else there is to know is in the reference."""
    navigation = yaml.load((ROOT / "mkdocs.yml").read_text(), Loader=Lenient)["nav"]
    guides = next(section["Guides"] for section in navigation if "Guides" in section)
    lengths = {
        name: len((ROOT / "docs" / name).read_text("utf-8").splitlines())
        for guide in guides
        for name in guide.values()
    }
    assert {name: n for name, n in lengths.items() if n > GUIDE_LINES_MAX} == {}


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text("utf-8").splitlines()) <= README_LINES_MAX


def test_every_decision_is_in_their_index():
    index = (ROOT / "docs" / "adr" / "README.md").read_text()
    listed = re.findall(r"^- \[.*\]\((.*)\)$", index, re.MULTILINE)
    decisions = sorted(path.name for path in (ROOT / "docs" / "adr").glob("0*.md"))
    assert listed == [name for name in decisions if not name.startswith("0000")]
