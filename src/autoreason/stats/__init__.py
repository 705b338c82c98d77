"""Intervals, tests and ratings: pure functions, each named after the rule it is. Import the module you need.

`results`, `shares`, `ranks` and `elections` need the standard library only; the others need NumPy and
SciPy, which the extra `stats` brings.
"""
