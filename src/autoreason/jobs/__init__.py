"""What every job is and works with: its context, its parts, its allowance, its randomness."""
