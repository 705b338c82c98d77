"""Whether judges are helped by the user's own outcomes: recorded pairs, with, without and with shuffled records."""
