r"""Seeds of components: rows far apart, found where distances mean something for every family.

Each block gets coordinates in which the squared distance of two rows is about the same for families of every kind: one
for each category or yes/no that differs, and one per within-class standard deviation for numbers and counts
(:math:`2\sqrt{x}` has unit variance for a Poisson count). Word counts become :math:`\sqrt{x_{ij}/\sum_j x_{ij}}`, whose
squared distance is Hellinger's. A missing cell takes the column's mean and so says nothing.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np

from softcount._types import FloatArray, IntArray
from softcount.core.chunks import Chunks
from softcount.core.membership import Membership
from softcount.core.mixture import MixtureModel
from softcount.families.bernoulli import Bernoulli
from softcount.families.blocks import Block, CodesBlock, DenseBlock, SparseBlock
from softcount.families.columns import ColumnFamily
from softcount.families.multinomial import Multinomial
from softcount.families.poisson import Poisson

__all__ = ["Coordinates", "coordinates", "lloyd", "nearest", "spread_seeds"]

#: One table per block, dense or sparse, rows aligned.
Coordinates: TypeAlias = list[Any]
#: One table of centers per block.
Centers: TypeAlias = list[FloatArray]

#: Coordinates of so few numbers (a megabyte) are kept beside the rows, for every start asks for the same.
REMEMBERED = 2**17


def coordinates(model: MixtureModel, chunks: Chunks) -> Coordinates:
    """The rows' coordinates, block by block; not to be written to."""
    kinds = tuple(type(family) for family in model.families)
    if kinds in chunks.coordinates:
        return chunks.coordinates[kinds]
    weight = np.ones(chunks.n_rows) if chunks.weight is None else chunks.weight
    found = [_place(family, block, weight) for family, block in zip(model.families, chunks.blocks, strict=True)]
    if chunks.n_rows * row_width(chunks) <= REMEMBERED:
        chunks.coordinates[kinds] = found
    return found


def _place(family: ColumnFamily | Membership, block: Block, weight: FloatArray) -> Any:
    if isinstance(family, Membership):
        # Rows belong together by their items.
        return np.zeros((block.n_rows, 1))
    if isinstance(block, CodesBlock):
        return _place_codes(block, weight)
    if isinstance(block, SparseBlock):
        return _place_sparse(family, block)
    values: FloatArray = np.array(block.numbers, dtype=np.float64)
    observed = np.ones(values.shape, dtype=bool) if block.missing is None else ~block.missing
    if isinstance(family, Multinomial):
        total = values.sum(axis=1, keepdims=True)
        return np.asarray(np.sqrt(values / np.where(total > 0.0, total, 1.0)))
    if isinstance(family, Poisson):
        values = 2.0 * np.sqrt(values)
    share = observed * weight[:, None]
    mass = share.sum(axis=0)
    mass[mass == 0.0] = 1.0
    mean = (share * values).sum(axis=0) / mass
    if not isinstance(family, (Bernoulli, Poisson)):
        spread = np.sqrt((share * (values - mean) ** 2).sum(axis=0) / mass)
        values = (values - mean) / np.where(spread > 0.0, spread, 1.0)
        mean = np.zeros_like(mean)
    return np.where(observed, values, mean)


def _place_codes(block: CodesBlock, weight: FloatArray) -> FloatArray:
    """Indicators of the values over the root of two: rows that differ in one column are at distance one."""
    sizes = np.diff(block.offsets)
    codes = block.codes.astype(np.int64)
    known = (codes >= 0) & (codes < sizes)
    row, column = np.nonzero(known)
    table = np.zeros((block.n_rows, int(block.offsets[-1])))
    table[row, block.offsets[column] + codes[row, column]] = 1.0
    if row.size < codes.size:
        # A missing value lies at the mean of those that are known.
        mass = np.repeat(weight @ known, sizes)
        mean = weight @ table / np.where(mass > 0.0, mass, 1.0)
        table += np.repeat(~known, sizes, axis=1) * mean
    table *= np.sqrt(0.5)
    return table


def _place_sparse(family: ColumnFamily, block: SparseBlock) -> Any:
    from scipy.sparse import csr_array

    data = np.ones(block.indices.shape[0]) if block.data is None else np.asarray(block.data, dtype=np.float64)
    shape = (block.n_rows, block.n_columns)
    table = csr_array((data, block.indices, block.indptr), shape=shape, copy=True)
    if isinstance(family, Multinomial):
        total = np.asarray(table.sum(axis=1)).ravel()
        table.data /= np.repeat(np.where(total > 0.0, total, 1.0), np.diff(table.indptr))
        table.data **= 0.5
    elif isinstance(family, Poisson):
        table.data = 2.0 * np.sqrt(table.data)
    return table


def distances(places: Coordinates, centers: Centers, squares: list[FloatArray] | None = None) -> FloatArray:
    """Squared distances of all rows from all centers, shape (n_rows, n_centers), given the rows' own ``squares``."""
    total: Any = 0.0
    for table, center, square in zip(places, centers, squares or _squares(places), strict=True):
        total = total + square - 2.0 * np.asarray(table @ center.T) + (center * center).sum(axis=1)
    return np.asarray(np.maximum(total, 0.0))


def _squares(places: Coordinates) -> list[FloatArray]:
    """Squared lengths of the rows of each table, shape (n_rows, 1)."""
    return [
        np.asarray(t.multiply(t).sum(axis=1) if hasattr(t, "multiply") else np.einsum("ij,ij->i", t, t)).reshape(-1, 1)
        for t in places
    ]


def at_rows(places: Coordinates, rows: IntArray) -> Centers:
    """The given rows as centers."""
    return [t[rows].toarray() if hasattr(t, "toarray") else t[rows] for t in places]


def averages(places: Coordinates, resp: FloatArray) -> Centers:
    """The mean place of every column of ``resp``; the overall mean for one without weight."""
    mass = resp.sum(axis=0)
    share = np.where(mass > 0.0, resp, resp.sum(axis=1, keepdims=True))
    share = share / share.sum(axis=0)
    return [np.asarray((table.T @ share).T) for table in places]


def nearest(places: Coordinates, centers: Centers) -> IntArray:
    """The closest center of each row."""
    return np.asarray(distances(places, centers).argmin(axis=1))


def spread_seeds(
    places: Coordinates, weight: FloatArray, n_seeds: int, rng: np.random.Generator, taken: Centers | None = None
) -> IntArray:
    """Rows far from one another and from the centers ``taken``: k-means++ (Arthur and Vassilvitskii, 2007).

    Every next seed is drawn with probability proportional to weight times squared distance from the closest one so far.
    """
    squares = _squares(places)
    gap = None if taken is None else distances(places, taken, squares).min(axis=1)
    seeds: list[int] = []
    for _ in range(n_seeds):
        chance = weight if gap is None else weight * gap
        total = float(chance.sum())
        if not total > 0.0:
            chance, total = weight, float(weight.sum())
        # What rng.choice draws, to the same seed, without its look at every chance.
        reached = (chance / total).cumsum()
        row = int((reached / reached[-1]).searchsorted(rng.random(), side="right"))
        seeds.append(row)
        new = distances(places, at_rows(places, np.array([row])), squares)[:, 0]
        gap = new if gap is None else np.minimum(gap, new)
    return np.array(seeds, dtype=np.int64)


def lloyd(
    places: Coordinates, weight: FloatArray, centers: Centers, *, n_fixed: int = 0, max_iter: int = 30
) -> Centers:
    """Centers moved to the mean of their closest rows until none changes its center (k-means).

    The first ``n_fixed`` centers stay where they are.
    """
    n_centers = centers[0].shape[0]
    before: IntArray | None = None
    for _ in range(max_iter):
        closest = nearest(places, centers)
        if before is not None and np.array_equal(closest, before):
            break
        before = closest
        resp = np.zeros((closest.shape[0], n_centers))
        resp[np.arange(closest.shape[0]), closest] = weight
        occupied = resp.sum(axis=0) > 0.0
        occupied[:n_fixed] = False
        moved = averages(places, resp)
        centers = [np.where(occupied[:, None], new, old) for new, old in zip(moved, centers, strict=True)]
    return centers


def row_width(chunks: Chunks) -> int:
    """Numbers per row that the coordinates hold."""
    width = 0
    for block in chunks.blocks:
        if isinstance(block, CodesBlock):
            width += int(block.offsets[-1])
        elif isinstance(block, DenseBlock):
            width += block.n_columns
        else:
            width += int(block.indptr[-1] - block.indptr[0]) // max(block.n_rows, 1) + 1
    return max(width, 1)
