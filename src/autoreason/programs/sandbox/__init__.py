"""Running Python that nobody trusts."""
