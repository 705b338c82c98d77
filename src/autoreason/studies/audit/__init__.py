"""Audits a record: rules that read any run, of this project or another, without calling a model."""
