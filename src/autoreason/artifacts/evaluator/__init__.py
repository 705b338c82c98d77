"""Measures artifacts, in a process that alone has the items and the sealed set."""
