"""Blind rating by people: packets, the page they are rated on, and what came of it."""
