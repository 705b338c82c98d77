"""Autoreason inside coding agents: what they are given, and whether their judges are blind."""
