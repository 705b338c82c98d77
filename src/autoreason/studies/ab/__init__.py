"""Texts of a run tried on real readers: a plan with codes and a sample size, and counts read back."""
