"""What autoreason costs, measured; `python -m benchmarks` runs all of it."""
