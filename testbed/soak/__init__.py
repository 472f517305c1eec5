"""The long tail of the tests: `make soak` runs what `make test` has no time for, with new seeds each time.

schedule     PURE  whose turn is next, and until when
sources      PURE  what is run in turns, and with which commands
progress     the next seed of each source: recorded in the repository, so that the next soak continues
regressions  what has failed once: recorded in the repository, and run again by `make test` and `make soak`
turns        one turn as a process, with a log and an end
soak         takes turns until the end, and sums up
"""
