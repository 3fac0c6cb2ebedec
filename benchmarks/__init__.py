"""Every workload beside its rivals: ``python -m benchmarks --help``."""
