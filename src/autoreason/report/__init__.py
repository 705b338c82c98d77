"""How results are shown: numbers in words, tables, and reports that print themselves."""
