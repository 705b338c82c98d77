"""Starts the examiner's process."""

from __future__ import annotations

from autoreason.examiner.process import main

main()
