"""Audits runs: what a record is worth, without calling a model."""
