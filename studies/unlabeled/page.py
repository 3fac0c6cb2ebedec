"""Putting tables between the page's markers, and figures beside it."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from studies.unlabeled.figures import draw_curves
from studies.unlabeled.plan import TITLES
from studies.unlabeled.results import Kept
from studies.unlabeled.tables import cost_table, main_table, totals, verdict_table

__all__ = ["replace_section", "write_page"]


def replace_section(page: str, name: str, content: str) -> str:
    """The page with what stands between ``<!-- name -->`` and ``<!-- end of name -->`` replaced."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if page.count(begin) != 1 or page.count(end) != 1:
        raise ValueError(f"The page needs the markers {begin} and {end}, once each.")
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    return pattern.sub(lambda _: f"{begin}\n{content}\n{end}", page)


def write_page(path: Path, kept: Kept) -> None:
    """Write tables and figures of all that is kept; what nothing is kept of stays as it is."""
    page = path.read_text(encoding="utf-8")
    sections = _sections_of_draws(kept, path.parent / "figures") if kept.results else {}
    if kept.costs:
        sections["cost"] = cost_table(kept.costs)
    for name, content in sections.items():
        page = replace_section(page, name, content)
    path.write_text(page, encoding="utf-8")
    sys.stderr.write(f"wrote {', '.join(sections)} of {path}\n")


def _sections_of_draws(kept: Kept, folder: Path) -> dict[str, str]:
    """What the page says of accuracy, by the names of its sections; figures are drawn into the folder."""
    results = kept.results
    seeds = sorted({r.seed for r in results})
    drawn = {r.name for r in results}
    if any({r.seed for r in results if r.name == name} != set(seeds) for name in drawn):
        raise ValueError("The results that are kept are of different draws: run all sets with the same --first-seed.")
    how = (
        f"Means of {len(seeds)} draws of the labels (seeds {seeds[0]} to {seeds[-1]}); these took "
        f"{sum(kept.minutes.values()):.0f} minutes of processor time."
    )
    skipped = [title for name, title in TITLES.items() if name not in drawn]
    if skipped:
        how += " Skipped, because the data was not there: " + ", ".join(skipped) + "."
    figures = draw_curves(results, folder)
    return {
        "main table": f"{main_table(results)}\n\n{how}",
        "verdicts": f"{totals(results)}\n\n{verdict_table(results)}",
        "curves": "\n\n".join(f"![{TITLES[_set_of(f)]}](figures/{f.name})" for f in figures),
    }


def _set_of(figure: Path) -> str:
    return figure.stem.removeprefix("unlabeled-").replace("-", "_")
