"""Starts the evaluator's process."""

from __future__ import annotations

from autoreason.artifacts.evaluator.evaluator_process import main

main()
