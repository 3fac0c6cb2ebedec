"""Rows that are not in memory: what they cost, what memory they take, and whether a long stream stays where it is."""
