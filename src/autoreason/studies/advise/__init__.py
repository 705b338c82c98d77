"""Should a brief be run at all, and how: measured on the brief itself."""
