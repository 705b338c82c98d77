"""One run from start to end, and the functions people call."""
