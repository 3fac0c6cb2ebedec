"""A report with everything in it, and a browser to look at it."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from softcount.report.data import (
    Advice,
    Bin,
    Cell,
    Class,
    ClassEvidence,
    Column,
    Confusion,
    Feature,
    Level,
    Quality,
    Report,
    Row,
    Rows,
    Unlabeled,
    Verdict,
)

#: Without graphics, sandbox (which root cannot have) and everything a browser says to its maker.
BROWSER_OPTIONS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Headless Chromium, where there is one."""
    sync_api = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(
        (path for name in ("chromium", "chromium-browser", "google-chrome") if (path := shutil.which(name))), None
    )
    if found is None:
        pytest.skip("there is no Chromium on this machine (Debian: apt-get install chromium)")
    with sync_api.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=found, args=BROWSER_OPTIONS)
        yield chromium
        chromium.close()


def make_report(spell: Callable[[str], str] = str, n_classes: int = 2) -> Report:
    """A report in which every text that can come from data is spelled by a function of its place."""
    names = [spell("class")] + [f"class {k}" for k in range(1, n_classes)]
    row = Row(
        where=spell("where"),
        cells=(Cell(spell("cell column"), spell("cell")), Cell("n", "17")),
        label=names[0],
        predicted=names[1],
        probability=0.953,
        second=names[0],
        second_probability=0.047,
        label_probability=0.047,
        reason=spell("reason"),
    )
    bins = (Bin(0.62, 0.5, (0.2, 0.8), 6.0), Bin(0.96, 0.9, (0.7, 0.97), 54.0))
    quality = Quality(
        how="held out",
        n_rows=60,
        accuracy=0.9,
        accuracy_interval=(0.8, 0.95),
        commonest_class=names[0],
        accuracy_of_commonest_class=0.6,
        log_loss=0.3,
        log_loss_before_calibration=0.4,
        calibration="temperature",
        calibration_error=0.02,
        calibration_error_before=0.08,
        reliability=bins,
        reliability_before=bins[::-1],
        levels=(Level(0.5, 1.0, 60.0, 0.9, (0.8, 0.95)), Level(0.99, 0.0, 0.0, None, None)),
        confusion=tuple(tuple(27.0 if i == j else 3.0 for j in range(n_classes)) for i in range(n_classes)),
        confusions=(Confusion(names[0], names[1], 3.0),),
        n_confusions=2,
    )
    told = Class(names[0], 30, 30.0, 0.9, (0.7, 0.97), 0.9, (0.7, 0.97), 0.5)
    return Report(
        job="train",
        command=spell("command"),
        created="2026-11-18 20:00:00 UTC",
        versions={"softcount": "0.1", "python": "3.11"},
        model=spell("model"),
        sha256="0" * 64,
        data=(spell("file"), "b.csv"),
        label=spell("label column"),
        n_rows=600,
        n_labeled=60,
        n_classes=n_classes,
        classes=(told, *(Class(name, 30, 30.0, 0.9, (0.7, 0.97), None, None, 0.5) for name in names[1:])),
        verdict=Verdict(
            "better than guessing", spell("headline"), (spell("sentence"),), (Advice(spell("advice"), spell("why")),)
        ),
        evaluation=quality,
        evidence=tuple(ClassEvidence(n, (Feature(spell("feature"), 0.3), Feature("b", -0.1))) for n in names),
        least_sure=Rows((row,) * 12, 30, 60, 60),
        suspects=Rows((row,), 1, 60, 70, 0.4),
        next=Rows((row,) * 3, 3, 500, 540),
        unlabeled=Unlabeled(540, "full", spell("unlabeled verdict"), 0.8, 0.9, 0.1, (0.05, 0.15)),
        n_columns=2,
        columns=(Column(spell("column"), "text", spell("column reason"), 0.1), Column("n", "number", "numbers", None)),
        warnings=(spell("warning"),),
        event_model="multinomial",
        alpha=1.0,
        converged=True,
        n_iter=12,
    )


@pytest.fixture
def example() -> Report:
    """A report with everything in it."""
    return make_report()


@pytest.fixture
def page_file(tmp_path: Path) -> Callable[[str], Path]:
    """Writes a page to a file."""

    def write(page: str) -> Path:
        path = tmp_path / "page.html"
        path.write_text(page, encoding="utf-8")
        return path

    return write
