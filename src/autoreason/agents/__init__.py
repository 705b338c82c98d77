"""Autoreason inside coding agents."""
