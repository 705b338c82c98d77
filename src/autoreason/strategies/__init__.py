"""The rival ways from a task to a text, and where a strategy is found by its name."""
