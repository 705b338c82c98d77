"""Studies of texts, judges, people and protocols."""
