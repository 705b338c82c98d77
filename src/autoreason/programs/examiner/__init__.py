"""Runs programs on tests and gives verdicts, in a process that alone knows the private tests."""
