"""Load generators, test APIs and meters of the benchmarks."""
