"""What the labels of one object may take in the memory of the adapter.

Kubernetes limits the length of a label, and not how many an object has: 1.5 MB of labels, which etcd accepts, take 16 MB when they are
decoded. So the labels of an object that takes too much are left out, and the API server compares it with a selector.
"""

from typing import Final

import msgspec

from wire.kube.metadata_only import PartialObject

LABELS_BYTES_MAX: Final = 64 * 1024
"""About 400 labels. Those of nodes with all features of their hardware take half of it, and those of pods a twentieth."""
LABEL_BYTES: Final = 120
"""What a label takes beside its texts, roughly."""


class ListedObject(PartialObject, frozen=True, gc=False):
    """Name and labels of an object. With `labels_left_out` it has labels, and none of them is known."""

    # Not in the JSON of any object: names of fields have no underscores in Kubernetes.
    labels_left_out: bool = False


def with_bounded_labels(found: ListedObject) -> ListedObject:
    """The same object; without its labels if they take too much."""
    labels = found.metadata.labels
    texts = sum(map(len, labels)) + sum(map(len, labels.values()))
    if texts + LABEL_BYTES * len(labels) <= LABELS_BYTES_MAX:
        return found
    metadata = msgspec.structs.replace(found.metadata, labels={})
    return ListedObject(metadata=metadata, labels_left_out=True)
