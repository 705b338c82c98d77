"""What the program says where judges, raters and programs are random.

Every statement of evidence that a command prints is listed in docs/evidence.md with the level it keeps under chance and
the test here that shows it. A test plays the statement many times, with seeds that never change, or goes through every
outcome where they can be counted. An interval of 95 % must hold the truth in 95 % of cases, and a sentence that claims
something must be wrong in 5 % of them at most; where cases are drawn, four standard errors are allowed for (`luck.py`).
"""
