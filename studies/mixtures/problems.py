"""Tables with a published maximum; those that are not typed in lie beside the checkout."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from softcount import GaussianMixture, LatentClass
from tests.reference.published_tables import CARCINOMA, CHEATING, GALAXIES, all_rows

__all__ = ["Problem", "problems", "shared_table"]

REPOSITORY = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Problem:
    """What is fitted to what, and the value that is published or was the highest of all that were ever found."""

    name: str
    model: Any
    X: Any
    best: float


def shared_table(name: str) -> pd.DataFrame | None:
    """A table beside the checkout, or None."""
    folder = Path(os.environ.get("SOFTCOUNT_DATA", REPOSITORY.parent / "shared" / "data"))
    if not (folder / name).exists():
        folder = REPOSITORY.parents[1] / "shared" / "data"
    return pd.read_csv(folder / name) if (folder / name).exists() else None


def problems() -> Iterator[Problem]:
    """All of them."""
    for k, best in ((2, -317.2568), (3, -293.7050), (4, -289.2858), (5, -286.8843), (6, -286.1866)):
        yield Problem(f"carcinoma, K = {k}", LatentClass(k), all_rows(CARCINOMA), best)
    yield Problem("cheating, K = 2", LatentClass(2), all_rows(CHEATING), -440.0271)
    cheating = shared_table("lca/poLCA_cheating.csv")
    if cheating is not None:
        yield Problem("cheating, K = 2, GPA", LatentClass(2, covariates="GPA"), cheating.dropna(), -429.6384)
    yield from _election()
    yield from _gaussian()


def _election() -> Iterator[Problem]:
    table = shared_table("lca/poLCA_election.csv")
    if table is None:
        return
    items = list(table.columns[:12])
    for k, best in ((2, -17344.9225), (3, -16714.6591), (4, -16350.5889), (5, -16047.8278), (6, -15864.6840)):
        yield Problem(f"election, K = {k}", LatentClass(k), table[items].dropna(), best)
    table["PARTY:AGE"] = table["PARTY"] * table["AGE"]
    for covariates, best in ((["PARTY"], -16222.3233), (["PARTY", "AGE", "PARTY:AGE"], -16135.3900)):
        rows = table[items + covariates].dropna()
        yield Problem(f"election, K = 3, {' + '.join(covariates)}", LatentClass(3, covariates=covariates), rows, best)


def _gaussian() -> Iterator[Problem]:
    galaxies = (GALAXIES / 1000.0)[:, None]
    tables = {"galaxies": galaxies}
    for name, file in (("diabetes", "diabetes_mclust"), ("iris", "iris"), ("faithful", "faithful")):
        table = shared_table(f"gmm/{file}.csv")
        if table is not None:
            tables[name] = table.select_dtypes("number").to_numpy(dtype=float)
    for name, k, kind, best in (
        ("galaxies", 3, "full", -203.1792),
        ("diabetes", 3, "full", -2303.4918),
        ("iris", 2, "full", -214.3547),
        ("iris", 3, "full", -180.1855),
        ("iris", 3, "diag", -306.8605),
        ("iris", 3, "tied", -256.3540),
        ("faithful", 2, "full", -1130.2640),
        ("faithful", 3, "tied", -1126.3159),
    ):
        if name in tables:
            for thorough in (True, False):
                model = GaussianMixture(k, covariance_type=kind, thorough=thorough)
                text = f"{name}, K = {k}, {kind}" + (", thorough" if thorough else "")
                yield Problem(text, model, np.asarray(tables[name]), best)
