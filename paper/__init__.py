"""The paper, repeated: its tables from its own data, its suites with any model, and how the defaults were found."""
