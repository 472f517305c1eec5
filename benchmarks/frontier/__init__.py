"""`python -m benchmarks.frontier`: what each way to scale ahead costs, and how long it is short, over all of its knobs.

A comparison at one cost depends on the cost. Here each policy has a frontier of replica-hours against the time short: the
HPA over its targets, the rivals over targets and margins, the forecast over targets and budgets.

trace -> replays (plain_replay for all but the forecast) -> measured (points by day, a line of the file of results)
-> judged (frontiers are hulls; intervals from days drawn again) -> tables, left_out, pictures. shapes: what kind of load it is.
"""
