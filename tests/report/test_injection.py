"""Data is never markup: what the page takes from it stays text, in a real browser and in the file."""

import csv
import json
from collections.abc import Callable
from html import escape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from softcount.cli.program import run
from softcount.report.as_html import render_html
from softcount.report.wording import shown
from tests.report.conftest import make_report
from tests.report.payloads import PAYLOADS, harmful

#: Tells the page's own violations of its policy to the test.
WATCH = """
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => {
        window.violations.push("violation: " + event.violatedDirective + " " + event.blockedURI);
    });
"""
#: Opens what is folded, sorts, waits a moment, and tells what is on the page. The elements are such as only a payload
#: can have brought, and the handlers are attributes that run code.
LOOK = """async () => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    document.querySelectorAll("th button").forEach((button) => button.click());
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 5)));
    const foreign = "img,image,iframe,object,embed,link,base,form,frame,animate,video,audio,template,use,math,marquee,"
        + "x,textarea,noscript";
    return {
        violations: window.violations,
        foreign: [...document.querySelectorAll(foreign)].map((element) => element.outerHTML),
        scripts: document.scripts.length,
        handlers: [...document.querySelectorAll("*")].flatMap((element) => element.getAttributeNames())
            .filter((name) => name.startsWith("on")),
        text: document.body.textContent.replace(/[ \\n]+/g, " "),
    };
}"""


class Watched:
    """A page, and everything it did that it should not."""

    def __init__(self, browser: Any) -> None:
        self.context = browser.new_context()
        self.faults: list[str] = []
        self.page = self.context.new_page()
        self.page.add_init_script(WATCH)
        self.page.on("dialog", self._dialog)
        self.page.on("console", lambda message: self.faults.append(f"console: {message.text}"))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", self._request)
        self.address = ""
        self.text = ""

    def _dialog(self, dialog: Any) -> None:
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _request(self, request: Any) -> None:
        if request.url != self.address:
            self.faults.append(f"request: {request.url}")

    def open(self, path: Path) -> list[str]:
        """Faults of a page."""
        self.faults.clear()
        self.address = path.resolve().as_uri()
        self.page.goto(self.address)
        seen = self.page.evaluate(LOOK)
        self.text = seen["text"].replace("\xa0", " ")
        strange = [f"element: {text}" for text in seen["foreign"]] + [f"handler: {name}" for name in seen["handlers"]]
        scripts = [] if seen["scripts"] == 1 else [f"{seen['scripts']} scripts"]
        return self.faults + seen["violations"] + strange + scripts


@pytest.fixture
def watched(browser: Any) -> Any:
    page = Watched(browser)
    yield page
    page.context.close()


def places() -> list[str]:
    """The places of a report whose text can come from data."""
    found: list[str] = []
    make_report(lambda place: found.append(place) or place)  # type: ignore[func-returns-value]
    return sorted(set(found))


def test_there_are_at_least_five_hundred_combinations_of_payload_and_place() -> None:
    assert len(set(PAYLOADS)) == len(PAYLOADS)
    assert len(PAYLOADS) * len(places()) >= 500


def test_no_payload_does_anything_in_any_place(watched: Watched, page_file: Callable[[str], Path]) -> None:
    for payload in PAYLOADS:
        report = make_report(lambda place, payload=payload: shown(harmful(payload, place), 300))
        faults = watched.open(page_file(render_html(report)))
        assert faults == [], f"{payload!r}: {faults}"
        for place in places():
            # Names of columns beside cells are shorter.
            assert shown(harmful(payload, place), 40 if place == "cell column" else 300) in watched.text


def test_the_browser_would_have_noticed(watched: Watched, page_file: Callable[[str], Path]) -> None:
    """The same watch on pages that are not escaped, with their policy and without."""
    noticed = 0
    for payload in ("<img src=x onerror=CALL>", "<script>CALL</script>", "<svg onload=CALL>"):
        text = harmful(payload, "cell")
        page = render_html(make_report(lambda place, text=text: text if place == "cell" else place))
        raw = page.replace(escape(text).replace("&quot;", "&#34;").replace("&#x27;", "&#39;"), text)
        assert text in raw
        assert any(fault.startswith("violation") for fault in watched.open(page_file(raw)))
        unguarded = raw.replace("Content-Security-Policy", "X-Nothing")
        noticed += any(fault == "dialog: cell" for fault in watched.open(page_file(unguarded)))
    assert noticed == 3


def test_a_table_full_of_payloads_gives_a_harmless_report(watched: Watched, tmp_path: Path) -> None:
    folder = tmp_path / "<b onmouseover=alert(1)>"
    folder.mkdir()
    data = folder / '"><img src=x onerror=alert(`file`)>.csv'
    texts = [harmful(p, "cell").replace("\x00", "") for p in PAYLOADS if p.isprintable()]
    names = [harmful(PAYLOADS[k], f"column {k}") for k in (0, 14, 15)]
    classes = [harmful(PAYLOADS[k], "class") for k in (0, 14, 23)]
    with data.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(["label", *names])
        for i, text in enumerate(texts * 2):
            row = [text, text[:9] + " of many words here", names[i % 3]]
            writer.writerow(["" if i % 5 == 4 else classes[i % 3], *row])
    model = folder / "m.softcount"
    assert run(["train", str(data), "-o", str(model), "--quiet"]) == 0
    page = folder / "m.report.html"
    assert watched.open(page) == []
    assert classes[1] in watched.text
    assert run(["evaluate", str(model), str(data), "--report", str(folder / "e.html"), "--quiet"]) == 0
    assert watched.open(folder / "e.html") == []
    assert run(["evaluate", str(model), str(data), "--report", str(folder / "e.json"), "--quiet"]) == 0
    assert classes[1] in [c["name"] for c in json.loads((folder / "e.json").read_text())["classes"]]


class Tags(HTMLParser):
    """What a page consists of."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


@pytest.mark.parametrize("payload", PAYLOADS)
def test_the_file_has_the_same_tags_whatever_the_data(payload: str) -> None:
    plain = Tags(render_html(make_report(lambda place: place)))
    laden = Tags(render_html(make_report(lambda place: shown(harmful(payload, place), 300))))
    assert [tag for tag, _ in laden.tags] == [tag for tag, _ in plain.tags]
    for tag, attributes in laden.tags:
        assert not [name for name in attributes if name.startswith("on") or name in ("style", "src", "srcdoc")]
        assert attributes.get("href", "#").startswith("#"), tag


def test_texts_are_shown_as_they_are_even_if_they_look_like_mathematics_or_code() -> None:
    page = render_html(make_report(lambda place: "costs $5 and $x_i$; 100 % {{ 1 }} <b>"))
    assert page.count("costs $5 and $x_i$; 100 % {{ 1 }} &lt;b&gt;") >= 8
