"""Drawings; the one place of the package that loads matplotlib, when something is drawn."""
