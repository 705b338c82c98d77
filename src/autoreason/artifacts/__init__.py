"""Research: an artifact improved against a number, and only what a fresh test shows is claimed."""
