"""The HPA controller's own code, with random cases; the core must return the same results.

`cases` the form of a case and of its result; `scenarios` random cases from a seed; `build` the Go
program; `record` runs it and writes the vectors; `replay` answers with the core.
"""
