"""How runs and results look in a terminal."""
