"""Benchmarks on the real control plane beside the programs that Loadline can replace: one file per benchmark."""
