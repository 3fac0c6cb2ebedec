"""Logistic regression: rows, penalty, one model for the loop, and the methods that take its steps."""
