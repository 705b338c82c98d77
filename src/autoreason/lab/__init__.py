"""Strategies against each other."""
