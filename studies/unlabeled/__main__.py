"""Run the study: ``python -m studies.unlabeled [--quick] [--tables-only]``, or ``make study-unlabeled``."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from studies.unlabeled.data_sets import REPOSITORY
from studies.unlabeled.page import write_page
from studies.unlabeled.plan import QUICK_SETS, planned_jobs
from studies.unlabeled.results import read_results, run_all, write_results
from studies.unlabeled.tables import main_table, totals

RESULTS = REPOSITORY / "out" / "study-unlabeled.json"
PAGE = REPOSITORY / "docs" / "explanation" / "unlabeled-rows.md"


def main() -> None:
    """Run the draws, then write the page's tables and figures."""
    parser = argparse.ArgumentParser(prog="python -m studies.unlabeled", description=__doc__)
    parser.add_argument("--draws", type=int, default=10, help="draws of labels for each row of the table")
    parser.add_argument("--first-seed", type=int, default=1000, help="seed of the first draw")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sets", nargs="+", help="only these data sets; the page is left alone")
    parser.add_argument("--quick", action="store_true", help="few sets, two draws, tables on the screen only")
    parser.add_argument("--tables-only", action="store_true", help="write the page from the last run's results")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results of the draws are kept")
    args = parser.parse_args()
    if not args.tables_only:
        sets = args.sets or (QUICK_SETS if args.quick else None)
        n_draws = 2 if args.quick else args.draws
        jobs, skipped = planned_jobs(n_draws, args.first_seed, sets)
        results = run_all(jobs, args.processes)
        # Processor time, of this process and of those it started and that have ended.
        minutes = sum(os.times()[:4]) / 60.0
        if args.quick or args.sets:
            sys.stdout.write(f"{main_table(results)}\n\n{totals(results)}\n")
            return
        write_results(args.results, results, skipped, minutes)
    write_page(PAGE, *read_results(args.results))


if __name__ == "__main__":
    main()
