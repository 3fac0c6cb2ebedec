"""Whether fits that were killed and taken up again are the same, to the last bit."""
