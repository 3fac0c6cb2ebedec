"""Run the study: ``python -m studies.unlabeled [--quick] [--cost] [--tables-only]``, or ``make study-unlabeled``."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from studies.unlabeled.data_sets import REPOSITORY
from studies.unlabeled.page import write_page
from studies.unlabeled.plan import DRAWS_TIMED, QUICK_SETS, jobs_to_time, planned_jobs
from studies.unlabeled.results import keep, measure_all, read_results, run_all
from studies.unlabeled.tables import cost_table, main_table, totals

RESULTS = REPOSITORY / "out" / "study-unlabeled.json"
PAGE = REPOSITORY / "docs" / "explanation" / "unlabeled-rows.md"


def main() -> None:
    """Run the draws, time the fits, then write the page's tables and figures."""
    parser = argparse.ArgumentParser(prog="python -m studies.unlabeled", description=__doc__)
    parser.add_argument("--draws", type=int, default=10, help="draws of labels for each row of the table")
    parser.add_argument("--first-seed", type=int, default=1000, help="seed of the first draw")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--sets", nargs="+", help="only these data sets; kept with the others, the page is left alone")
    parser.add_argument("--cost", action="store_true", help="only time the fits, which wants a quiet machine")
    parser.add_argument("--no-cost", action="store_true", help="do not time the fits")
    parser.add_argument("--quick", action="store_true", help="few sets, two draws, tables on the screen only")
    parser.add_argument("--tables-only", action="store_true", help="write the page from the results that are kept")
    parser.add_argument("--results", type=Path, default=RESULTS, help="where the results of the draws are kept")
    args = parser.parse_args()
    if not args.tables_only:
        sets = args.sets or (QUICK_SETS if args.quick else None)
        n_draws = 2 if args.quick else args.draws
        batches, _ = planned_jobs(n_draws, args.first_seed, sets, curves=not (args.quick or args.cost))
        if not args.cost:
            found = run_all(batches, args.processes)
            sys.stdout.write(f"{main_table(found.results)}\n\n{totals(found.results)}\n")
            if not args.quick:
                keep(args.results, found)
        if not (args.quick or args.no_cost):
            costs = measure_all(jobs_to_time(batches, min(n_draws, DRAWS_TIMED)))
            sys.stdout.write(f"{cost_table(costs.costs)}\n")
            keep(args.results, costs)
        if args.quick or args.sets:
            return
    write_page(PAGE, read_results(args.results))


if __name__ == "__main__":
    main()
