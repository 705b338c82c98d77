"""Programs: how a model writes, mends and chooses them, and the set of problems they are for."""
