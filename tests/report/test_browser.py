"""The page in Chromium: it sorts, filters, can be used by keyboard and by screen readers."""

from __future__ import annotations

import shutil

import pytest

import ndcg_spark as nd

ARGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
        "--disable-background-networking", "--disable-component-update"]  # fmt: skip
WIDTHS = (1280, 768, 360)
RULES = {
    "runOnly": {
        "type": "tag",
        "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"],
    }
}


@pytest.fixture(scope="module")
def browser():
    found = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if not found:
        pytest.skip("no Chromium on this machine")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=found, args=ARGS)
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address(outputs, tmp_path_factory):
    out = tmp_path_factory.mktemp("page") / "report.html"
    nd.write_report(outputs.all, measure="nDCG@10", out=str(out))
    return out.as_uri()


@pytest.fixture
def page(browser, address, request):
    width, scheme = getattr(request, "param", (1280, "light"))
    opened = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    said = []
    opened.on("console", lambda message: said.append(message.text))
    opened.on("pageerror", lambda problem: said.append(str(problem)))
    opened.on(
        "request",
        lambda r: said.append(r.url) if not r.url.startswith(("file:", "data:")) else None,
    )
    opened.goto(address)
    yield opened
    assert said == []
    opened.close()


def column(table, place):
    cells = table.locator("tbody > tr:visible")
    return [row.locator("> *").nth(place).inner_text() for row in cells.all()]


@pytest.mark.parametrize(
    "page", [(w, s) for w in WIDTHS for s in ("light", "dark")], indirect=True, ids=str
)
def test_fits_and_is_accessible(page):
    from axe_playwright_python.sync_playwright import Axe

    width = page.viewport_size["width"]
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options=RULES)
    assert found.violations_count == 0, found.generate_report()


def test_light_and_dark_differ(browser, address):
    papers = set()
    for scheme in ("light", "dark"):
        page = browser.new_page(color_scheme=scheme)
        page.goto(address)
        papers.add(page.evaluate("getComputedStyle(document.body).backgroundColor"))
        page.close()
    assert len(papers) == 2


def test_tables_sort(page):
    table = page.locator("table", has=page.locator("caption", has_text="Mean of each measure"))
    head = table.locator("thead th", has_text="nDCG@10")
    head.get_by_role("button").click()
    assert head.get_attribute("aria-sort") == "ascending"
    up = [float(text) for text in column(table, 2)]
    assert up == sorted(up)
    head.get_by_role("button").press("Enter")
    assert head.get_attribute("aria-sort") == "descending"
    assert [float(text) for text in column(table, 2)] == up[::-1]
    table.locator("thead th", has_text="run").get_by_role("button").click()
    assert head.get_attribute("aria-sort") is None
    assert column(table, 0) == ["bm25", "dense", "rerank"]


def test_filters(page):
    table = page.locator("table", has=page.locator("caption", has_text="Against the baseline"))
    every = len(column(table, 0))
    field = page.get_by_label("Filter: Against the baseline")
    field.fill("rerank nDCG")
    assert column(table, 0) == ["nDCG@5", "nDCG@10", "nDCG@20"]
    assert f"3 of {every}" in page.locator("label", has=field).inner_text()
    field.fill("")
    assert len(column(table, 0)) == every


def test_keyboard_and_landmarks(page):
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "To the content"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#content"
    for role in ("banner", "navigation", "main", "contentinfo"):
        assert page.get_by_role(role).count() == 1, role
    first = page.locator("details > summary").first
    first.focus()
    page.keyboard.press("Enter")
    assert page.locator("details[open]").count() == 1
    links = page.get_by_role("navigation").get_by_role("link")
    for link in links.all():
        assert page.locator(link.get_attribute("href")).count() == 1
    ids = page.eval_on_selector_all("[id]", "all => all.map(one => one.id)")
    assert len(ids) == len(set(ids))


def test_numbers_can_be_saved(page):
    with page.expect_download() as download:
        page.get_by_role("link", name="Numbers of Means by cut-off").click()
    with open(download.value.path()) as file:
        assert file.readline() == "family,cutoff,run_id,mean,ci_low,ci_high\n"


def test_prints(page):
    page.emulate_media(media="print")
    assert not page.get_by_role("navigation").is_visible()
    assert page.locator("label.filter:visible").count() == 0
    assert page.pdf().startswith(b"%PDF")
