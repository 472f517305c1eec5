"""Mutants: the code with one small mistake each, which the tests must find."""
