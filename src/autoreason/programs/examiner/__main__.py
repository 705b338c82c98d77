"""Starts the examiner's process."""

from __future__ import annotations

from autoreason.programs.examiner.process import main

main()
