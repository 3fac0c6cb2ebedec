"""A report as one HTML file that loads nothing, runs nothing but its own short script, and shows data as text only."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from functools import cache
from importlib import resources
from typing import Any

from softcount._optional import need
from softcount.report.charts import accuracy_scale, heat, reliability_diagram
from softcount.report.data import Report
from softcount.report.wording import counted, percent, shown

__all__ = ["MOST_BYTES", "can_render_html", "render_html"]

#: No page is larger, whatever the data: the limits of the structure see to it.
MOST_BYTES = 5_000_000
#: Wider confusion matrices are hard to read; the commonest mistakes are listed instead.
WIDEST_MATRIX = 25
# Classes and columns are quoted in sentences.
_QUOTED_RIGHT_TO_LEFT = re.compile("'([^']*[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc][^']*)'")
#: A matrix of names longer than this, and of more classes, has them upright.
LONG_NAME, MANY_NAMES = 8, 5
#: Rows of a list that are shown at once; the others are folded away.
UNFOLDED = 8
#: Classes that are listed.
MOST_LISTED = 300
#: Classes whose evidence is shown at once.
MOST_CARDS = 12


def can_render_html() -> bool:
    """Whether the template engine is installed."""
    from importlib.util import find_spec

    return find_spec("jinja2") is not None


def render_html(report: Report) -> str:
    """The page.

    Parameters
    ----------
    report : Report
    """
    quality = report.evaluation
    shows_matrix = quality is not None and quality.confusion is not None and report.n_classes <= WIDEST_MATRIX
    style, script = _part("report.css"), _part("report.js")
    page: str = _template().render(
        report=report,
        quality=quality,
        style=style,
        script=script,
        policy=content_policy(style, script),
        scale=None if quality is None else accuracy_scale(quality),
        diagrams=[] if quality is None else _diagrams(report),
        matrix=quality.confusion if quality is not None and shows_matrix else None,
        shades=heat(quality.confusion) if quality is not None and shows_matrix and quality.confusion else None,
        tall=len(report.classes) > MANY_NAMES and max(len(c.name) for c in report.classes) > LONG_NAME,
        unfolded=UNFOLDED,
        most_cards=MOST_CARDS,
        most_listed=MOST_LISTED,
    )
    return page


def content_policy(style: str, script: str) -> str:
    """What the page may do: apply this style and run this script, known by their fingerprints, and nothing else."""
    return "; ".join(
        (
            "default-src 'none'",
            f"style-src '{_fingerprint(style)}'",
            f"script-src '{_fingerprint(script)}'",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )


def _diagrams(report: Report) -> list[tuple[str, float, Any]]:
    quality = report.evaluation
    assert quality is not None
    after = ("As stated", quality.calibration_error, reliability_diagram(quality.reliability))
    if quality.calibration == "none":
        return [after]
    before = (
        "Before calibration",
        quality.calibration_error_before,
        reliability_diagram(quality.reliability_before),
    )
    return [before, ("After calibration", *after[1:])]


def _fingerprint(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def _part(name: str) -> str:
    return (resources.files("softcount.report") / "templates" / name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    need("jinja2", "An HTML report", "'softcount[report]'")
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(_part),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "percent": _percent,
        "span": _span,
        "tight": _tight,
        "whole": _whole,
        "decimals": _decimals,
        "figures": _figures,
        "counted": counted,
        "cut": shown,
    }
    return environment.get_template("report.html")


def _tight(text: str) -> str:
    """A sentence of ours: names in it keep their direction to themselves, and no line ends before a percent sign."""
    text = text.replace(" %", "\N{NO-BREAK SPACE}%")
    return _QUOTED_RIGHT_TO_LEFT.sub("'\N{FIRST STRONG ISOLATE}\\1\N{POP DIRECTIONAL ISOLATE}'", text)


def _percent(share: float) -> str:
    return _tight(percent(share))


def _span(interval: tuple[float, float]) -> str:
    """An interval in percent, with decimals where it is narrow."""
    low, high = (100.0 * end for end in interval)
    places = 0 if high - low > 5.0 else 1
    return f"{low:.{places}f}\N{EN DASH}{high:.{places}f}\N{NO-BREAK SPACE}%"


def _whole(value: float) -> str:
    # Halves, of rows that were held out twice, go up: a count that is shaded is no zero.
    return f"{math.floor(value + 0.5):,}"


def _figures(value: float) -> str:
    """Two figures, without an exponent where the number is large."""
    return f"{value:,.0f}" if value >= 100.0 else f"{value:.2g}"


def _decimals(value: float, places: int = 3) -> str:
    return f"{value:.{places}f}"
