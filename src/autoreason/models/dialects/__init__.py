"""The wire formats: a request as each provider wants it, and its answer as ours. Pure, no I/O."""
