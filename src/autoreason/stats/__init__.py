"""Intervals and tests: pure functions, each named after the rule it is. Import the module you need.

`paired`, `position` and `power` need NumPy or SciPy, which the extra `stats` brings; the others need the
standard library only.
"""
