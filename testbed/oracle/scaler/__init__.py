"""The HPA controller's own code, with random questions; the core must give the same answers.

`questions` the form of a question and of an answer; `scenarios` random questions from a seed; `build` the Go
program; `record` runs it and writes the vectors; `replay` answers with the core.
"""
