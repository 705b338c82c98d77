"""What is journalled, budgeted and resumable: the context it works in, its parts, its allowance."""
