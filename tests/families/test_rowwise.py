"""A row added to all rows, and the sum of all rows."""

import numpy as np
import pytest

from softcount.families.rowwise import LONG, TOGETHER, add_to_rows, fill_rows, plus_row, sum_of_rows


@pytest.mark.parametrize("n_rows", [0, 1, TOGETHER - 1, TOGETHER, 3 * TOGETHER + 5])
@pytest.mark.parametrize("n_columns", [1, 2, 7, LONG])
def test_rows_taken_together_are_still_rows(n_rows: int, n_columns: int) -> None:
    rng = np.random.default_rng(n_rows + n_columns)
    table, row = rng.normal(size=(n_rows, n_columns)), rng.normal(size=n_columns)
    for given in (table, np.asfortranarray(table), np.repeat(table, 2, axis=1)[:, ::2]):
        changed = given.copy(order="K")
        add_to_rows(changed, row)
        np.testing.assert_array_equal(changed, table + row)
        fill_rows(changed, row)
        np.testing.assert_array_equal(changed, np.tile(row, (n_rows, 1)))
        for more in (row[None], table.copy()):
            changed = given.copy(order="K")
            plus_row(changed, more)
            np.testing.assert_array_equal(changed, table + more)
        np.testing.assert_allclose(sum_of_rows(given), table.sum(axis=0), rtol=1e-13, atol=1e-12)
