"""Whether there is a newer Kubernetes than the one that Loadline follows."""

from scaler.api import upstream
from testbed.assets import KUBERNETES_VERSIONS
from testbed.go_modules import released_versions, source
from testbed.upstream_diff import FOLLOWED, KUBERNETES, version_of_staging


def test_the_newest_minor_version_of_kubernetes_is_in_the_table():
    newest = max(map(upstream.minor_of, released_versions(KUBERNETES)))
    assert newest <= upstream.NEWEST.minor, (
        f"Kubernetes 1.{newest} has been released: follow docs/new-kubernetes-version.md"
    )


def test_the_followed_files_exist_in_the_newest_version_that_is_tested():
    version = KUBERNETES_VERSIONS[f"1.{upstream.NEWEST.minor}"]
    missing = []
    for followed in FOLLOWED:
        of_module = version if followed.module == KUBERNETES else version_of_staging(version)
        if not (source(followed.module, of_module) / followed.path).exists():
            missing.append(f"{followed.module}/{followed.path}")
    assert not missing
