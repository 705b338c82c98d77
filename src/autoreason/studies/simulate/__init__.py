"""The tournament in simulated worlds, where the true quality of every text is known."""
