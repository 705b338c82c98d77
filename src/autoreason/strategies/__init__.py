"""The other ways from a task to a text, and the registry of strategies."""
