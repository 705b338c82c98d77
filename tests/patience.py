"""How long tests wait for what must happen."""

PATIENCE = 100.0
"""Seconds. Only ever reached where something is wrong, however busy the machine; less than a test may take in all."""
