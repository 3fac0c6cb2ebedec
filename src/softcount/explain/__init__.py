"""What a fitted model says: comparisons, boundaries, diagnostics and their drawings."""
