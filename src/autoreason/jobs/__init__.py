"""What every job is and works with: its context, its allowance, its randomness."""
