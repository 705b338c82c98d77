"""The wire formats: a request as each provider expects it, and its answer as a `Reply`. Pure, no I/O."""
