"""Writing an estimator to a model file."""

from __future__ import annotations

import os
from typing import Any, cast

from sklearn.utils.validation import check_is_fitted

__all__ = ["Savable"]


class Savable:
    """Gives an estimator the method ``save``."""

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted estimator to one file, without pickle; :func:`softcount.load` reads it.

        Parameters
        ----------
        path : str or path
            Where to; an existing file is replaced, and only by a whole one.
        """
        import softcount

        check_is_fitted(cast("Any", self))
        softcount.save(self, path)
