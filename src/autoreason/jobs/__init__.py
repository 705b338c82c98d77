"""What every job works with: its context, its parts, its allowance, its randomness."""
