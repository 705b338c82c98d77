"""The page of a run and the list of runs: all is computed here, so that scripts only switch what is seen."""
