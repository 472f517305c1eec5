"""A hook of MkDocs: pages and files outside docs/ that the documentation links to.

The pages are written for a checkout, so their links are paths of the repository. Here each becomes a link within the site.
"""

import posixpath
import re
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).resolve().parents[1]
DOCS = "docs/"
# Pages of the repository, and where they are in the site.
PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "ADOPTERS.md": "adopters.md",
    "CODE_OF_CONDUCT.md": "code-of-conduct.md",
    "GOVERNANCE.md": "governance.md",
    "MAINTAINERS.md": "maintainers.md",
    "RELEASING.md": "releasing.md",
    "ROADMAP.md": "roadmap.md",
}
ADR_INDEX = "docs/adr/README.md"
LINK = re.compile(r"(\]\()(?!https?:|#|mailto:)([^)#\s]+)((?:#[^)\s]*)?\))")


def location(path: str) -> str:
    """Where a file of the repository is in the site."""
    if path in PAGES:
        return PAGES[path]
    if path.startswith(DOCS):
        return path.removeprefix(DOCS)
    return f"source/{path}"


def relinked(text: str, *, page: str) -> str:
    """The text of a page of the repository, with links within the site."""
    start = posixpath.dirname(location(page))

    def replaced(found: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(page), found[2]))
        if target + "/README.md" == ADR_INDEX:
            target = ADR_INDEX
        return found[1] + posixpath.relpath(location(target), start or ".") + found[3]

    return LINK.sub(replaced, text)


def linked_sources() -> set[str]:
    """Files of the repository outside docs/ that are linked, and are not pages."""
    found = set()
    for page in [*map(ROOT.joinpath, PAGES), *(ROOT / "docs").rglob("*.md")]:
        for _, link, _ in LINK.findall(page.read_text("utf-8")):
            path = posixpath.normpath(
                posixpath.join(page.relative_to(ROOT).parent.as_posix(), link)
            )
            if location(path).startswith("source/") and (ROOT / path).is_file():
                found.add(path)
    return found


def on_config(config: Any) -> Any:
    """Each page shows the version that it describes, and where it can be edited, if it is published from a repository."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    config.copyright = f"Loadline {project['version']}"
    if not config.repo_url:
        config.edit_uri = None
    return config


def on_files(files: Files, *, config: Any) -> Files:
    """Add what is outside docs/."""
    for path in PAGES:
        text = relinked((ROOT / path).read_text("utf-8"), page=path)
        page = File.generated(config, location(path), content=text)
        page.edit_uri = f"../{path}"
        files.append(page)
    for path in sorted(linked_sources()):
        files.append(
            File.generated(config, location(path), content=(ROOT / path).read_text("utf-8"))
        )
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """The pages in docs/; the others have been relinked already."""
    path = page.file.src_uri
    return markdown if path in PAGES.values() else relinked(markdown, page=DOCS + path)
