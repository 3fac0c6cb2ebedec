"""Mixtures measured: how often the maximum is found, how long it takes beside others, how often intervals are right."""
