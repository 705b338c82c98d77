"""Suites: tasks, arms and repeats as cells, each a run of its own, with comparisons fixed before the first call."""
