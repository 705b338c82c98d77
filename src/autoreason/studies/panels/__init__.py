"""Blind comparison of finished texts by models."""
