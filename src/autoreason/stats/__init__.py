"""Intervals and tests: pure functions, each named after the rule it is.

`results`, `shares`, `ranks` and `sums` are what a run needs and load the standard library only.
"""
