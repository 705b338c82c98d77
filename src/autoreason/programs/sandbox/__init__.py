"""Runs untrusted Python programs."""
