"""Counts, models, the one loop, and who runs it."""
