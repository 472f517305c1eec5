"""The HPA controller's own code, asked random questions; our core must answer alike.

`questions` the form of a question and of an answer; `scenarios` random questions from a seed; `build` the Go
program; `record` asks it and writes the vectors; `replay` answers with our core.
"""
