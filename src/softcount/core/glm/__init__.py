"""Generalized linear models: families and links, one model for the loop, how it starts, and what follows from a fit."""
