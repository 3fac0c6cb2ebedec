"""Logistic regression, binary and multinomial."""

from softcount.estimators.logistic.estimator import LogisticRegression

__all__ = ["LogisticRegression"]
