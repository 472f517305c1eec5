"""How the commands of the plugin behave in a terminal and in a script: exit codes, Ctrl-C and closed pipes."""
