"""Completion of `kubectl-loadline` in fish, by the program that completes `kubectl loadline` for kubectl."""

from typing import Final

SHELL: Final = "fish"
SCRIPT: Final = """\
# Completion of kubectl-loadline in fish. kubectl_complete-loadline prints a candidate per line, then a directive.
function __kubectl_loadline_candidates
    set -l words (commandline -opc)
    set -l last (commandline -ct)
    set -l lines (kubectl_complete-loadline $words[2..-1] "$last" 2>/dev/null)
    if test "$lines[-1]" = ":0"
        __fish_complete_path "$last"
    end
    string match --invert --regex '^:\\d+$' -- $lines
end
complete --command kubectl-loadline --no-files --arguments '(__kubectl_loadline_candidates)'
"""
