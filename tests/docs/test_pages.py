"""The pages of the documentation: their Python runs, their links lead somewhere, their fences are closed."""

import re
import warnings
from pathlib import Path

import pytest

from tools import write_reference

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted([*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"])
FENCE = re.compile(r"^```(?P<language>[\w-]*)[^\n]*\n(?P<code>.*?)^```\s*$", flags=re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|mailto:|#)(?P<target>[^)#\s]+)(?:#[^)]*)?\)")
#: Modules that softcount can do without, so that a page about them can only run where they are installed.
OPTIONAL = (
    "click",
    "dask",
    "distributed",
    "formulaic",
    "jinja2",
    "matplotlib",
    "onnx",
    "pandas",
    "polars",
    "pyarrow",
    "rich",
)


def named(page):
    return page.relative_to(ROOT).as_posix()


def python_blocks(text):
    """Code of every Python block, with as many empty lines before it as precede it on the page."""
    for match in FENCE.finditer(text):
        if match["language"] == "python":
            yield "\n" * text.count("\n", 0, match.start("code")) + match["code"]


def run(page):
    """Run the blocks of a page from top to bottom, as one program whose tracebacks point at the page's lines."""
    names = {"__name__": f"page {page.name}"}
    for block in python_blocks(page.read_text(encoding="utf-8")):
        exec(compile(block, str(page), "exec"), names)  # the pages are part of the repository
    return names


WITH_CODE = [page for page in PAGES if any(python_blocks(page.read_text(encoding="utf-8")))]


@pytest.mark.parametrize("page", WITH_CODE, ids=named)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    text = "".join(python_blocks(page.read_text(encoding="utf-8")))
    for library in OPTIONAL:
        if re.search(rf"^\s*(?:import|from) {library}\b", text, flags=re.MULTILINE):
            pytest.importorskip(library)
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        # A page says so where something is to be warned about; anything else would puzzle its reader.
        warnings.simplefilter("error")
        run(page)


@pytest.mark.parametrize("page", [page for page in WITH_CODE if "explanation" in named(page)], ids=named)
def test_an_explanation_asserts_what_it_claims(page):
    """Of the blocks of an explanation most state what comes out, so that the page cannot go stale unnoticed."""
    blocks = list(python_blocks(page.read_text(encoding="utf-8")))
    assert 2 * sum("assert " in block for block in blocks) >= len(blocks)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_links_to_files_lead_to_files(page):
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for target in LINK.findall(text):
        assert (page.parent / target).exists(), f"{named(page)} links to {target}, which is not there"


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_every_fence_is_closed(page):
    text = page.read_text(encoding="utf-8")
    assert "```" not in FENCE.sub("", text)


# ---- the runner itself
def test_a_failing_block_names_the_line_of_the_page(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Title\n\n```python\nx = 1\n```\n\nText.\n\n```python\nassert x == 2\n```\n", encoding="utf-8")
    with pytest.raises(AssertionError) as caught:
        run(page)
    last = caught.traceback[-1]
    assert (str(last.path), last.lineno + 1) == (str(page), 10)


def test_blocks_of_other_languages_do_not_run(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("```console\n$ false\n```\n\n```\nraise\n```\n\n```python\nx = 1\n```\n", encoding="utf-8")
    assert run(page)["x"] == 1


# ---- what is written from the code
def test_the_page_of_names_is_that_of_the_docstrings():
    assert write_reference.PAGE.read_text(encoding="utf-8") == write_reference.page()


def test_every_page_is_reached_from_the_index():
    reached, waiting = set(), [ROOT / "docs" / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached:
            continue
        reached.add(page)
        targets = LINK.findall(FENCE.sub("", page.read_text(encoding="utf-8")))
        waiting += [target for name in targets if (target := (page.parent / name).resolve()).suffix == ".md"]
    missing = [named(page) for page in PAGES if page.is_relative_to(ROOT / "docs") and page not in reached]
    assert not [name for name in missing if "/adr/" not in name]
