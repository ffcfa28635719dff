"""The report in a real browser: Debian's chromium, without a window. STABLEBAG_BROWSER=required makes it mandatory."""

import os
import shutil

import pytest

from stablebag.showing.report import write

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(
    CHROMIUM is None and os.environ.get("STABLEBAG_BROWSER") != "required",
    reason="there is no chromium on this machine, so the report is not opened in a browser",
)


@pytest.fixture(scope="module")
def report(diabetes, tmp_path_factory):
    result, X = diabetes
    path = tmp_path_factory.mktemp("report") / "report.html"
    return write(path, result, rows=X[:200], command="stablebag measure x.csv"), result


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
    opened.wait_for_selector("#chart canvas", state="attached")
    yield opened
    context.close()


def test_it_opens_without_errors_and_without_the_network(page, report):
    assert page.inner_text("#verdict") == str(report[1].verdict())
    assert [text for kind, text in page.said if kind == "error"] == []
    assert [url for url in page.asked if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.is_visible("#chart")
    assert not page.is_visible(".replaced")


def test_influential_rows_are_sorted_by_a_click_and_by_the_keyboard(page):
    def column():
        return [float(text) for text in page.locator("#influential tbody tr td:nth-child(2)").all_inner_texts()]

    assert len(set(column())) > 5
    assert column() == sorted(column(), reverse=True)
    button = page.locator("#influential thead th:nth-child(2) button")
    button.click()
    assert column() == sorted(column())
    button.focus()
    page.keyboard.press("Enter")
    assert column() == sorted(column(), reverse=True)


def test_a_test_point_can_be_chosen(page):
    select = page.locator("#chart select")
    assert select.count() == 1

    def pictures(label):
        """The curves and the histogram, each without the list above them that shows the choice."""
        select.select_option(label=label)
        page.wait_for_timeout(500)
        canvases = page.locator("#chart .bk-Canvas").all()
        assert len(canvases) == 2
        return [canvas.screenshot() for canvas in canvases]

    pictures("test row 200")  # a chart that is drawn again differs a little from the first one
    together, third = pictures("all points together"), pictures("test row 202")
    assert together[0] != third[0]
    assert together[1] != third[1]
    assert pictures("all points together") == together  # so it was the choice that changed them
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
    assert opened.locator(".replaced").is_visible()
    assert not opened.locator("#chart").is_visible()
    context.close()


def test_hovering_over_a_curve_reads_it(page):
    page.locator("#chart").scroll_into_view_if_needed()
    box = page.locator("#chart canvas").first.bounding_box()
    for share in (0.2, 0.25):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_timeout(200)
    read = page.locator(".bk-Tooltip").first.evaluate("tooltip => tooltip.shadowRoot.textContent", timeout=5000)
    assert "epsilon" in read
    assert "delta" in read


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_ink_and_paper_differ_in_light_and_dark(page, scheme):
    page.emulate_media(color_scheme=scheme)
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ink, paper)]
    assert abs(brightness[0] - brightness[1]) > 400
    assert (brightness[0] < brightness[1]) == (scheme == "light")


def test_print_shows_static_figures(page):
    page.emulate_media(media="print")
    assert page.locator(".replaced").is_visible()
    assert not page.locator("#chart").is_visible()
