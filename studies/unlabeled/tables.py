"""The page's tables, as Markdown."""

from __future__ import annotations

from collections.abc import Iterator
from statistics import mean, median
from typing import TypeVar

from studies.unlabeled.cost import Cost
from studies.unlabeled.draws import Result
from studies.unlabeled.plan import TABLE, TITLES

__all__ = ["cost_table", "main_table", "rows", "totals", "verdict_table"]

Drawn = TypeVar("Drawn", Result, Cost)

#: A difference on the test part that a verdict should see.
NOTABLE = 0.03


def rows(results: list[Drawn]) -> Iterator[tuple[str, int, list[Drawn]]]:
    """Draws of every row of the tables, in their order."""
    for name, sizes in TABLE.items():
        for size in sizes:
            draws = [r for r in results if r.name == name and r.n_labels == size]
            if draws:
                yield name, size, draws


def _label(name: str, size: int) -> str:
    return f"{TITLES[name]}, {size}{' per class' if name.startswith('newsgroups') else ''}"


def _mean(draws: list[Result], method: str) -> str:
    values = [r.accuracy[method] for r in draws if method in r.accuracy]
    return f"{mean(values):.3f}" if values else ""


def main_table(results: list[Result]) -> str:
    """Accuracy of every method, what the default chose, and calibration."""
    lines = [
        "| data, labels | labeled only | plain EM | self-training | label spreading | **default** | gain "
        "| chosen: none / marginals / full | ECE: labeled only → default |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name, size, draws in rows(results):
        gain = mean(r.accuracy["default"] - r.accuracy["labeled"] for r in draws)
        chosen = " / ".join(str(sum(r.used == use for r in draws)) for use in ("none", "marginals", "full"))
        error = " → ".join(f"{mean(r.calibration[m] for r in draws):.3f}" for m in ("labeled", "default"))
        methods = " | ".join(_mean(draws, m) for m in ("labeled", "plain", "self_training", "spreading"))
        lines.append(
            f"| {_label(name, size)} | {methods} | **{_mean(draws, 'default')}** | {gain:+.3f} | {chosen} | {error} |"
        )
    return "\n".join(lines)


def _notable(draws: list[Result]) -> list[tuple[Result, float]]:
    pairs = [(r, r.accuracy["default"] - r.accuracy["labeled"]) for r in draws]
    return [(r, gain) for r, gain in pairs if abs(gain) > NOTABLE]


def verdict_table(results: list[Result]) -> str:
    """How often the verdict was right."""
    lines = [
        "| data, labels | draws with a true difference above 3 points | direction right | conclusive | conclusive and "
        "right |",
        "|---|---|---|---|---|",
    ]
    for name, size, draws in rows(results):
        large = _notable(draws)
        right = sum(r.verdict["direction"] * gain > 0 for r, gain in large)
        told = [(r, gain) for r, gain in large if r.verdict["conclusive"] and r.used != "none"]
        told_right = sum(r.verdict["difference"] * gain > 0 for r, gain in told)
        if large:
            lines.append(f"| {_label(name, size)} | {len(large)} | {right} | {len(told)} | {told_right} |")
    return "\n".join(lines)


def totals(results: list[Result]) -> str:
    """The verdicts in one sentence."""
    draws = [r for _, _, part in rows(results) for r in part]
    large = _notable(draws)
    right = sum(r.verdict["direction"] * gain > 0 for r, gain in large)
    told = [(r, r.accuracy["default"] - r.accuracy["labeled"]) for r in draws]
    told = [(r, gain) for r, gain in told if r.verdict["conclusive"] and r.used != "none"]
    wrong = [gain for r, gain in told if r.verdict["difference"] * gain <= 0]
    worst = f", the largest true difference among them {max(map(abs, wrong)):.3f}" if wrong else ""
    return (
        f"{len(draws)} draws: in {len(large)} the true difference exceeds 3 points, and the direction is right in "
        f"{right} of them. {len(told)} of all verdicts are conclusive, {len(wrong)} of them with the wrong sign{worst}."
    )


def cost_table(costs: list[Cost]) -> str:
    """Time of the whole default fit in units of the EM inside it and of plain EM, and its memory beside plain EM's."""
    lines = [
        "| data, labels | plain EM, s (iterations) | EM inside the default, s (iterations) | default, s "
        "| default / EM inside | default / plain EM | rows, MB | beside them, MB: plain EM → default |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for name, size, draws in rows(costs):
        plain, default = (median(c.seconds[m] for c in draws) for m in ("plain", "default"))
        ratio = median(c.seconds["default"] / c.seconds["plain"] for c in draws)
        whole = [c for c in draws if "em" in c.seconds]
        own, inside = "", ""
        if whole:
            own = (
                f"{_seconds(median(c.seconds['em'] for c in whole))} ({median(c.iterations['em'] for c in whole):.0f})"
            )
            inside = f"{median(c.seconds['default'] / c.seconds['em'] for c in whole):.1f}"
        passes = median(c.iterations["plain"] for c in draws)
        held, with_em, with_default = (median(c.peak[m] for c in draws) for m in ("rows", "plain", "default"))
        lines.append(
            f"| {_label(name, size)} | {_seconds(plain)} ({passes:.0f}) | {own} | {_seconds(default)} | {inside} "
            f"| {ratio:.1f} | {held:.1f} | {with_em:.1f} → {with_default:.1f} |"
        )
    return "\n".join(lines)


def _seconds(value: float) -> str:
    """Two digits at least: of a thousandth of a second as well."""
    return f"{value:.3f}" if value >= 0.01 else f"{value:.4f}"
