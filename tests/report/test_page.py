"""The page: one small file that works offline, on a phone, in the dark, from the keyboard and without its script."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from softcount.report.as_html import MOST_BYTES, content_policy, render_html
from softcount.report.data import LIMITS, Column, Report, Row, Rows
from tests.report.conftest import make_report

TEMPLATES = Path(__file__).resolve().parents[2] / "src" / "softcount" / "report" / "templates"


def test_a_page_loads_nothing_and_says_so_to_the_browser(example: Report) -> None:
    page = render_html(example)
    assert not re.search(r"(?:https?:)?//\w", page.replace("// ", ""))
    policy = re.search(r'Content-Security-Policy" content="([^"]+)"', page)
    assert policy is not None
    assert policy[1].replace("&#39;", "'").startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy[1]
    # What comes before the policy would not be covered by it.
    assert page.index("Content-Security-Policy") < min(page.index("<style>"), page.index("<script>"))


def test_the_policy_names_the_fingerprints_of_exactly_what_is_there() -> None:
    # printf 'a' | openssl dgst -sha256 -binary | base64, and the same of b
    policy = content_policy("a", "b")
    assert "style-src 'sha256-ypeBEsobvcr6wjGzmiPcTaeG7/gUfE5yuYB3ha/uSLs='" in policy
    assert "script-src 'sha256-PiPoFgA5WUoziU9lZOGxNIu9egCI1CxKy3PurtWcAJ0='" in policy


def test_the_script_is_below_ten_kilobytes_and_makes_no_markup_from_text() -> None:
    script = (TEMPLATES / "report.js").read_text(encoding="utf-8")
    assert len(script.encode()) < 10_000
    assert not re.search(
        r"innerHTML|outerHTML|insertAdjacent|document\.write|eval|Function\(|setAttribute\(.on", script
    )


def laden_report() -> Report:
    """Everything at its limit, in characters that take the most bytes."""

    def full(most: int) -> str:
        return '"' * most

    sizes = {
        "cell": LIMITS.cell,
        "reason": LIMITS.sentence,
        "command": LIMITS.command,
        "feature": LIMITS.feature,
        "column reason": LIMITS.reason,
        "sentence": LIMITS.sentence,
        "headline": LIMITS.sentence,
        "why": LIMITS.sentence,
        "warning": LIMITS.sentence,
    }
    base = make_report(lambda place: full(sizes.get(place, LIMITS.name)), n_classes=LIMITS.matrix)
    row = base.suspects.rows[0] if base.suspects is not None else None
    assert isinstance(row, Row)
    row = replace(row, cells=row.cells[:1] * LIMITS.cells, predicted=full(LIMITS.name), second=full(LIMITS.name))
    features = base.evidence[0].features[:1] * LIMITS.features
    quality = base.evaluation
    assert quality is not None
    return replace(
        base,
        n_classes=10 * LIMITS.classes,
        classes=(replace(base.classes[0], name=full(LIMITS.name)),) * LIMITS.classes,
        evaluation=replace(quality, confusions=quality.confusions[:1] * LIMITS.confusions),
        evidence=(replace(base.evidence[0], features=features),) * LIMITS.evidence,
        least_sure=Rows((row,) * LIMITS.least_sure, 10**6, 10**6, 10**6),
        suspects=Rows((row,) * LIMITS.suspects, 10**6, 10**6, 10**6, 10.0),
        next=Rows((row,) * LIMITS.next, 10**6, 10**6, 10**6),
        columns=(Column(full(LIMITS.name), "category", full(LIMITS.reason), 0.5),) * LIMITS.columns,
        warnings=base.warnings * LIMITS.warnings,
        data=base.data[:1] * LIMITS.columns,
    )


def test_the_largest_report_there_can_be_stays_below_five_megabytes() -> None:
    page = render_html(laden_report())
    assert 1_000_000 < len(page.encode()) < MOST_BYTES == 5_000_000


def test_every_heading_of_a_table_says_what_it_heads(example: Report) -> None:
    page = render_html(make_report(n_classes=3))
    assert all("scope=" in tag for tag in re.findall(r"<th\b[^>]*>", page))
    assert page.count("<h1") == 1
    assert 'lang="en"' in page
    ids = re.findall(r'\bid="([^"]+)"', page)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r'(?:href="#|aria-labelledby=")([^"]+)"', page)) <= set(ids)


def luminance(color: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    lighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out_from_what_is_behind_them(scheme: str) -> None:
    style = (TEMPLATES / "report.css").read_text(encoding="utf-8")
    blocks = re.findall(r":root \{(.*?)\}", style, flags=re.DOTALL)
    colors = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", blocks[0 if scheme == "light" else 1]))
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    for behind in ("page", "card"):
        for text in ("ink", "quiet", "accent"):
            assert contrast(colors[text], colors[behind]) >= 4.5, (text, behind)
    assert contrast(colors["good"], colors["page"]) >= 4.5
    assert contrast(colors["ink"], colors["warn-card"]) >= 4.5
    assert contrast(colors["warn"], colors["warn-card"]) >= 4.5
    # The darkest shade of the confusion matrix.
    mixed = "#" + "".join(
        f"{round(0.38 * int(colors['accent'][i : i + 2], 16) + 0.62 * int(colors['page'][i : i + 2], 16)):02x}"
        for i in (1, 3, 5)
    )
    assert contrast(colors["ink"], mixed) >= 4.5


def test_parts_a_report_does_not_have_are_left_out(example: Report) -> None:
    bare = replace(example, evaluation=None, least_sure=None, suspects=None, next=None, unlabeled=None, warnings=())
    page = render_html(bare)
    for part in ("probabilities", "suspects", "unsure", "next", "unlabeled", "warnings"):
        assert f'id="{part}"' in render_html(example)
        assert f'id="{part}"' not in page
        assert f'href="#{part}"' not in page


# ---- in a browser
@pytest.fixture
def opened(browser: Any, page_file: Callable[[str], Path]) -> Any:
    """Opens a page at a width; closes what it opened."""
    contexts = []

    def show(page: str, width: int = 1280, **options: Any) -> Any:
        context = browser.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        tab = context.new_page()
        tab.goto(page_file(page).as_uri())
        return tab

    yield show
    for context in contexts:
        context.close()


@pytest.mark.parametrize("width", [320, 768])
def test_nothing_sticks_out_of_a_narrow_page(opened: Any, width: int) -> None:
    long = "a_name_without_any_space_" * 4
    tab = opened(render_html(make_report(lambda place: f"{long} {place}", n_classes=20)), width)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("getComputedStyle(document.body).fontSize") == "16px"


@pytest.mark.parametrize("width", [360, 1280])
def test_no_column_of_words_is_so_narrow_that_words_are_cut_into_letters(opened: Any, width: int) -> None:
    columns = tuple(Column(f"column_{k}", "category", "7 different values, each many times", 0.0) for k in range(3))
    tab = opened(render_html(replace(make_report(), columns=columns)), width)
    for cell in tab.locator("#columns td:not(.number), #columns th").all():
        assert cell.bounding_box()["width"] >= 50


def test_twenty_classes_fit_beside_each_other_on_a_desk(opened: Any) -> None:
    tab = opened(render_html(make_report(lambda place: f"a longer {place}", n_classes=20)))
    region = tab.locator("[aria-label='Confusion matrix']")
    assert region.evaluate("box => box.scrollWidth <= box.clientWidth")


def test_halves_of_rows_go_up_so_that_a_shaded_cell_is_no_zero() -> None:
    report = make_report()
    assert report.evaluation is not None
    page = render_html(replace(report, evaluation=replace(report.evaluation, confusion=((7.0, 0.5), (2.5, 6.0)))))
    assert re.findall(r'<td class="(?:right )?(?:s\d|zero)">(\d+)</td>', page) == ["7", "1", "3", "6"]


def test_the_page_follows_the_reader_from_light_to_dark(opened: Any, example: Report) -> None:
    page = render_html(example)
    colors = [
        opened(page, color_scheme=scheme).evaluate("getComputedStyle(document.body).backgroundColor")
        for scheme in ("light", "dark")
    ]
    assert colors == ["rgb(255, 255, 255)", "rgb(18, 22, 28)"]


def test_tables_are_sorted_from_the_keyboard_and_say_so(opened: Any) -> None:
    report = make_report(n_classes=3)
    classes = tuple(replace(c, name=n, n_labels=k) for c, n, k in zip(report.classes, "bca", (9, 100, 20), strict=True))
    tab = opened(render_html(replace(report, classes=classes)))
    table = tab.locator("#classes table").first
    table.locator("th button").nth(1).focus()
    tab.keyboard.press("Enter")
    assert table.locator("tbody th").all_inner_texts() == ["c", "a", "b"]
    assert table.locator("thead th").nth(1).get_attribute("aria-sort") == "descending"
    tab.keyboard.press("Enter")
    assert table.locator("tbody th").all_inner_texts() == ["b", "a", "c"]
    table.locator("th button").first.click()
    assert table.locator("tbody th").all_inner_texts() == ["a", "b", "c"]
    assert table.locator("thead th[aria-sort]").count() == 1


def test_lists_are_filtered_by_words_also_where_they_are_folded(opened: Any, example: Report) -> None:
    row = example.suspects.rows[0] if example.suspects is not None else None
    assert row is not None
    rows = tuple(replace(row, where=f"line {k}", cells=(replace(row.cells[0], text=f"text {k}"),)) for k in range(20))
    tab = opened(render_html(replace(example, suspects=Rows(rows, 20, 60, 60, 1.0), least_sure=None)))
    tab.locator("#suspects input").fill("line 19")
    visible = tab.locator("#suspects li:visible")
    assert visible.count() == 1
    assert "text 19" in visible.inner_text()
    assert tab.locator("#suspects output").inner_text() == "1 of 20"
    tab.locator("#suspects input").fill("")
    assert visible.count() == 20


def test_without_script_the_page_says_the_same_and_offers_nothing_that_does_not_work(
    opened: Any, example: Report
) -> None:
    tab = opened(render_html(example), java_script_enabled=False)
    assert tab.locator("button, input").count() == 0
    assert "What to label next" in tab.inner_text("main")


def test_every_control_and_scrolling_table_is_reached_by_the_tab_key(opened: Any, example: Report) -> None:
    tab = opened(render_html(example))
    expected = tab.evaluate("document.querySelectorAll('a, button, input, summary, [tabindex]').length")
    reached = set()
    for _ in range(expected + 40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.activeElement)"))
    hidden = tab.evaluate("document.querySelectorAll('details:not([open]) [tabindex]').length")
    assert (
        len(reached - {tab.evaluate("[...document.querySelectorAll('*')].indexOf(document.body)")}) >= expected - hidden
    )
