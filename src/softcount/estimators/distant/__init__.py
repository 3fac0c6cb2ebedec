"""Estimators on rows that are not in memory: files, memory-mapped arrays, batches, Dask collections."""
