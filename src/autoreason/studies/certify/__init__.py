"""A judge is measured before it is trusted: questions whose answers are known, and what they show."""
