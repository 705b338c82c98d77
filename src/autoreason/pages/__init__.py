"""The page of a run: its story and the views of it, all computed here, so that scripts only switch what is seen."""
