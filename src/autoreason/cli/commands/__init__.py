"""The commands, by subject: their options, their help, and the call each makes."""
