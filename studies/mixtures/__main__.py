"""Run a study: ``python -m studies.mixtures maxima|rivals|coverage|newton``."""

from __future__ import annotations

import argparse
import sys
import warnings

from studies.mixtures.coverage import coverage
from studies.mixtures.maxima import maxima
from studies.mixtures.newton import newton
from studies.mixtures.rivals import rivals


def main() -> None:
    """Print the table that was asked for."""
    parser = argparse.ArgumentParser(prog="python -m studies.mixtures", description=__doc__)
    parser.add_argument("study", choices=["maxima", "rivals", "coverage", "newton"])
    parser.add_argument("--seeds", type=int, default=30, help="maxima: fits of every table, with seeds 0, 1, ...")
    parser.add_argument("--only", default="", help="maxima: tables whose name holds this")
    parser.add_argument("--draws", type=int, default=200, help="coverage: tables that are drawn")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    table = {
        "maxima": lambda: maxima(args.seeds, args.only),
        "rivals": rivals,
        "newton": newton,
        "coverage": lambda: coverage(args.draws),
    }
    for line in table[args.study]():
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
