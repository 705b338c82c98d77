"""Model prose read: ballots, critiques, documents, leaks."""
