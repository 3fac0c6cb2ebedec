"""Generalized linear models."""

from softcount.estimators.glm.estimator import GLM

__all__ = ["GLM"]
