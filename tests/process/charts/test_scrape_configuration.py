"""Prometheus reads the scrape configuration in the documents."""

import subprocess

from testbed import assets


def test_promtool_accepts_the_configuration(documented_blocks, tmp_path):
    [configuration] = documented_blocks
    file = tmp_path / "prometheus.yml"
    file.write_text(configuration)
    # Without the files that are in a pod only.
    command = [assets.find("promtool"), "check", "config", "--syntax-only", file]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
