"""A classifier of tables as they come from files: texts beside numbers, categories and dates."""

from softcount.estimators.table.classifier import TableClassifier
from softcount.estimators.table.text import TextCounter, TextOptions

__all__ = ["TableClassifier", "TextCounter", "TextOptions"]
