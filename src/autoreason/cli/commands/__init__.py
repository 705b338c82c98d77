"""One module per command: its options, its help, and the call it makes."""
