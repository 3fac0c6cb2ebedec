"""Latent class analysis."""

from softcount.estimators.latent_class.estimator import LatentClass

__all__ = ["LatentClass"]
