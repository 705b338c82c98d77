"""The page of a run and the list of runs."""
