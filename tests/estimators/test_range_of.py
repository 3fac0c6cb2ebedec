"""One look at all cells of a table says what they lie between."""

import numpy as np
import pytest
from scipy.sparse import csr_array

from softcount.estimators._tables import PIECE, range_of


@pytest.mark.parametrize("place", [0, PIECE - 1, PIECE, 2 * PIECE + 4])
def test_pieces_are_seen_to_the_last_cell_by_any_number_of_threads(place: int) -> None:
    cells = np.random.default_rng(0).normal(size=2 * PIECE + 5)
    for value in (-100.0, 100.0, np.nan, np.inf):
        cells[place], kept = value, cells[place]
        seen = range_of(cells[:, None], 1)
        assert range_of(cells[:, None], 3) == seen
        assert (seen.least, seen.greatest) == (np.nanmin(cells), np.nanmax(cells))
        assert seen.has_missing == np.isnan(value)
        assert seen.total == pytest.approx(np.nansum(cells), rel=1e-12)
        cells[place] = kept


def test_every_layout_is_read() -> None:
    X = np.random.default_rng(1).normal(size=(30, 4))
    for table in (X, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2], csr_array(X)):
        seen = range_of(table)
        assert (seen.least, seen.greatest, seen.has_missing) == (X.min(), X.max(), False)
        assert seen.total == pytest.approx(X.sum())
