"""The report in a real browser: Debian's chromium, without a window. STABLEBAG_BROWSER=required makes it mandatory."""

import os
import shutil
from dataclasses import replace

import pytest

from stablebag.measuring.suspects import Suspects, UnusualRow
from stablebag.showing.report import write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("STABLEBAG_BROWSER") != "required",
        reason="there is no chromium on this machine, so the report is not opened in a browser",
    ),
]


@pytest.fixture(scope="module")
def report(diabetes, tmp_path_factory):
    result, X = diabetes
    path = tmp_path_factory.mktemp("report") / "report.html"
    far = tuple(UnusualRow(k, k, (-1) ** k * 1000.0 / (k + 1), 5.0, 200.0 / (k + 1)) for k in range(8))
    result = replace(result, suspects=Suspects((), far, 0.5, 5.0))
    return write(path, result, rows=X[:200]), result


@pytest.fixture(scope="module")
def browser():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def page(browser, report):
    """The opened report, with what it said to the console and asked of the network."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.said, opened.asked = [], []
    opened.on("console", lambda message: opened.said.append((message.type, message.text)))
    opened.on("pageerror", lambda error: opened.said.append(("error", str(error))))
    opened.on("dialog", lambda dialog: (opened.said.append(("error", "a dialog")), dialog.dismiss()))
    opened.on("request", lambda request: opened.asked.append(request.url))
    opened.goto(report[0].as_uri())
    opened.wait_for_selector("#chart[data-ready]", state="attached")
    yield opened
    context.close()


def test_it_opens_without_errors_and_without_the_network(page, report):
    assert page.inner_text("#verdict .headline") == report[1].verdict().headline
    assert [text for kind, text in page.said if kind == "error"] == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.is_visible("#changes")
    assert page.is_visible("#chart")
    assert not page.is_visible(".replaced >> nth=0")


def test_suspicious_rows_are_sorted_by_a_click_and_by_the_keyboard(page):
    def column(number):
        return page.locator(f"#worth-a-look tbody tr :nth-child({number})").all_inner_texts()

    def sizes():
        return [abs(float(text.replace(",", ""))) for text in column(2)]

    assert len(set(sizes())) == 8
    assert sizes() == sorted(sizes(), reverse=True)
    button = page.locator("#worth-a-look thead th:nth-child(4) button")
    button.click()
    assert sizes() == sorted(sizes())
    assert page.locator("#worth-a-look thead th:nth-child(4)").get_attribute("aria-sort") == "ascending"
    button.focus()
    page.keyboard.press("Enter")
    assert sizes() == sorted(sizes(), reverse=True)
    page.locator("#worth-a-look thead th:nth-child(1) button").click()
    assert column(1) == sorted(column(1), key=int, reverse=True)


def test_no_script_but_its_own_runs(page):
    page.evaluate("() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; "
                  "document.body.append(s); }")  # fmt: skip
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for _, text in page.said)


def test_a_test_point_can_be_chosen(page):
    select = page.locator("#point")
    assert select.count() == 1

    def pictures(label):
        """The curves, without the list above them that shows the choice, and all changes, which stay."""
        select.select_option(label=label)
        page.wait_for_timeout(500)
        canvases = page.locator(".bk-Canvas").all()
        assert len(canvases) == 2
        return [canvas.screenshot() for canvas in canvases]

    def shown():
        sources = "Bokeh.documents.map((d) => d.get_model_by_name('curve bagged')).find((found) => found)"
        return page.evaluate(f"[...{sources}.data.moves]"), page.evaluate("moves")

    pictures("test row 200")  # a chart that is drawn again differs a little from the first one
    together, third = pictures("all points together"), pictures("test row 202")
    assert together[0] == third[0]
    assert together[1] != third[1]
    curve, moves = shown()
    assert curve == moves["2"]["bagged"]["moves"]
    pictures("all points together")
    curve, moves = shown()
    assert curve == moves["all"]["bagged"]["moves"]
    assert [text for kind, text in page.said if kind == "error"] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_at_the_side(page, width):
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_static_figures_remain_without_scripts(browser, report):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(report[0].as_uri())
    assert opened.locator(".replaced img").count() == 2
    assert all(picture.is_visible() for picture in opened.locator(".replaced").all())
    assert not opened.locator("#chart").is_visible()
    assert not opened.locator("#changes").is_visible()
    context.close()


@pytest.mark.parametrize(
    ("chart", "words"),
    [
        ("#chart", ("moves it further than", "share of rows")),
        ("#changes", ("change by at least", "share of all cases")),
    ],
)
def test_hovering_over_a_curve_reads_it(page, chart, words):
    page.locator(chart).scroll_into_view_if_needed()
    box = page.locator(f"{chart} canvas").first.bounding_box()
    for share in (0.2, 0.25):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_timeout(200)
    read = page.locator(".bk-Tooltip").first.evaluate("tooltip => tooltip.shadowRoot.textContent", timeout=5000)
    assert all(each in read for each in words)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_and_paper_differ_in_light_and_dark(page, scheme):
    page.emulate_media(color_scheme=scheme)
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ink, paper)]
    assert abs(brightness[0] - brightness[1]) > 400
    assert (brightness[0] < brightness[1]) == (scheme == "light")


def test_charts_and_the_list_of_points_are_read_in_the_dark(page):
    def colours():
        inks = page.evaluate(
            "Bokeh.documents.flatMap((d) => [...d.all_models]).filter((m) => m.type.endsWith('Axis'))"
            ".map((m) => m.major_label_text_color)"
        )
        style = "getComputedStyle(document.getElementById('point'))"
        return set(inks), page.evaluate(f"[{style}.color, {style}.backgroundColor]")

    page.emulate_media(color_scheme="light")
    light = colours()
    page.emulate_media(color_scheme="dark")
    page.wait_for_timeout(200)
    dark = colours()
    assert light[0] == {"#1b1f24"}
    assert dark[0] == {"#e6e9ec"}
    assert dark[1][0] == light[1][0].replace("27, 31, 36", "230, 233, 236")
    assert dark[1][1] != light[1][1]
    assert "dark" in page.locator("figure img").first.evaluate("image => image.closest('picture').innerHTML")


def test_print_shows_static_figures(page):
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 718, "height": 1000})  # what is between the margins of a sheet of A4
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert all(picture.is_visible() for picture in page.locator(".replaced").all())
    assert not page.locator("#chart").is_visible()
    assert not page.locator("#changes").is_visible()
