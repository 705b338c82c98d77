"""Programs: how a model writes, repairs and chooses them, and the problems they solve."""
