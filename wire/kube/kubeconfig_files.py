"""The files of a kubeconfig as one document, as client-go loads them (`ClientConfigLoadingRules.Load`, tools/clientcmd/loader.go).

- The first file that has an entry with a name, or a current-context, wins.
- A path in a file is relative to the folder of this file.
- A missing file and an empty one are skipped.
"""

import os
from pathlib import Path
from typing import Any, Final

KINDS: Final = ("cluster", "context", "user")
_PATHS: Final = {
    "cluster": ("certificate-authority",),
    "user": ("client-certificate", "client-key", "tokenFile"),
}

Document = dict[str, Any]


def merged(paths: str) -> Document:
    """`paths` as in `$KUBECONFIG`: separated by colons. An entry has the names of client-go, and a value of its own kind.

    Raises `FileNotFoundError` if there is none of the files, other `OSError`, and ValueError for a file that is not a kubeconfig.
    """
    named = (Path(path).expanduser() for path in paths.split(os.pathsep) if path)
    existing = [file for file in named if file.exists()]
    if not existing:
        raise FileNotFoundError("no such file")
    found: Document = {f"{kind}s": [] for kind in KINDS}
    for file in existing:
        document = _document(file)
        found["current-context"] = found.get("current-context") or document.get("current-context")
        for kind in KINDS:
            _add(found[f"{kind}s"], kind, document, file)
    return found


def is_empty(document: Document) -> bool:
    """Whether it says nothing, so that client-go looks for the credentials of a pod."""
    return not any(document[f"{kind}s"] for kind in KINDS) and not document["current-context"]


def _document(file: Path) -> Document:
    # Local, because a program in a pod has no kubeconfig and needs no YAML.
    import yaml

    try:
        document = yaml.safe_load(file.read_bytes())
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error
    if not isinstance(document, dict | None):
        raise ValueError(f"{file} is not a kubeconfig")
    return document or {}


def _add(entries: list[Document], kind: str, document: Document, file: Path) -> None:
    """The entries of a file whose names are new."""
    names = {each["name"] for each in entries}
    for each in document.get(f"{kind}s") or ():
        if not isinstance(each, dict) or not isinstance(each.get(kind), dict | None):
            raise ValueError(f"{file}: {kind}s has an entry that is not a {kind}")
        name = each.get("name") or ""
        if name not in names:
            names.add(name)
            entries.append({"name": name, kind: _value(each.get(kind) or {}, kind, file)})


def _value(value: Document, kind: str, file: Path) -> Document:
    # As in Go, an empty field is a field that is not there: an empty `...-data` does not replace a file.
    present = {key: each for key, each in value.items() if each not in (None, "")}
    folder = file.absolute().parent
    for key in _PATHS.get(kind, ()):
        if key in present:
            present[key] = str(folder / present[key])
    plugin = present.get("exec")
    # A command without a slash is looked for in $PATH.
    if isinstance(plugin, dict) and os.sep in str(plugin.get("command")):
        present["exec"] = {**plugin, "command": str(folder / plugin["command"])}
    return present
