"""The report in a real browser: Debian's chromium, without a window. STABLEBAG_BROWSER=required makes it mandatory."""

import os
import re
import shutil
from dataclasses import replace

import pytest
from sklearn.datasets import load_diabetes

from stablebag import BaggedRegressor, study
from stablebag.measuring.suspects import Suspects, UnusualRow
from stablebag.showing.report import write
from stablebag.showing.report.page import Colophon

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        CHROMIUM is None and os.environ.get("STABLEBAG_BROWSER") != "required",
        reason="Opening the report in a browser needs chromium, which is not installed.",
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
    """The opened report, with its messages to the console and its requests to the network."""
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    opened = context.new_page()
    opened.messages, opened.requests = [], []
    opened.on("console", lambda message: opened.messages.append((message.type, message.text)))
    opened.on("pageerror", lambda error: opened.messages.append(("error", str(error))))
    opened.on("dialog", lambda dialog: (opened.messages.append(("error", "a dialog")), dialog.dismiss()))
    opened.on("request", lambda request: opened.requests.append(request.url))
    opened.goto(report[0].as_uri())
    opened.wait_for_selector("#chart[data-ready]", state="attached")
    yield opened
    context.close()


def test_report_opens_without_errors_and_without_the_network(page, report):
    assert page.inner_text("#summary div:nth-child(4) dd") == report[1].summary()[3].text
    assert [text for kind, text in page.messages if kind == "error"] == []
    assert [url for url in page.requests if not url.startswith(("file:", "data:", "blob:"))] == []
    assert page.is_visible("#changes")
    assert page.is_visible("#chart")
    assert not page.is_visible(".replaced >> nth=0")


def test_suspicious_rows_are_sorted_by_a_click_and_by_the_keyboard(page):
    page.locator("details:has(#worth-a-look)").evaluate("details => (details.open = true)")

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


def test_browser_runs_only_the_scripts_of_the_report(page):
    page.evaluate("() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; "
                  "document.body.append(s); }")  # fmt: skip
    assert page.evaluate("window.ran") is None
    assert any("Content Security Policy" in text for _, text in page.messages)


def test_curves_of_a_chosen_test_point_are_shown_with_its_own_guarantee(page):
    select = page.locator("#point")
    assert select.count() == 1

    def pictures(label):
        """The curves, without the list above them that shows the choice, and all changes, which do not depend on it."""
        select.select_option(label=label)
        page.wait_for_timeout(500)
        canvases = page.locator(".bk-Canvas").all()
        assert len(canvases) == 2
        return [canvas.screenshot() for canvas in canvases]

    names = ("bagged model", "guaranteed for the bagged model")

    def shown():
        of = "Bokeh.documents.map((d) => d.get_model_by_name('curve {}')).find((found) => found)"
        return [page.evaluate(f"[...{of.format(name)}.data.moves]") for name in names], page.evaluate("moves")

    pictures("test row 200")  # a chart that is drawn again differs a little from the first
    together, third = pictures("average of all"), pictures("test row 202")
    assert together[0] == third[0]
    assert together[1] != third[1]
    curves, moves = shown()
    assert curves == [moves["2"][name]["moves"] for name in names]
    assert curves[1] != moves["all"][names[1]]["moves"]
    pictures("average of all")
    curves, moves = shown()
    assert curves == [moves["all"][name]["moves"] for name in names]
    assert [text for kind, text in page.messages if kind == "error"] == []


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_sticks_out_at_the_side(page, width):
    page.evaluate("document.querySelectorAll('details').forEach((one) => (one.open = true))")
    page.set_viewport_size({"width": width, "height": 900})
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_only_tables_that_are_too_wide_scroll_and_take_the_keyboard(page):
    page.set_viewport_size({"width": 390, "height": 900})
    page.locator("details:has(#worth-a-look)").evaluate("details => (details.open = true)")
    page.wait_for_timeout(300)

    def box(table):
        return page.locator(f".wide:has(#{table})")

    hint = "box => getComputedStyle(box, '::after').content"
    assert "Scroll sideways" in box("worth-a-look").evaluate(hint)
    assert box("scores-table").evaluate(hint) == "none"
    assert box("worth-a-look").evaluate("box => box.tabIndex") == 0
    assert box("scores-table").evaluate("box => box.tabIndex") == -1
    box("worth-a-look").focus()
    page.keyboard.press("ArrowRight")
    page.wait_for_timeout(300)
    assert box("worth-a-look").evaluate("box => box.scrollLeft") > 0


def test_static_pictures_are_shown_without_scripts(browser, report):
    context = browser.new_context(java_script_enabled=False)
    opened = context.new_page()
    opened.goto(report[0].as_uri())
    assert opened.locator(".replaced svg").count() == 2
    assert all(picture.is_visible() for picture in opened.locator(".replaced").all())
    assert not opened.locator("#chart").is_visible()
    assert not opened.locator("#changes").is_visible()
    context.close()


@pytest.mark.parametrize(
    ("chart", "words"),
    [
        ("#chart", ("change it by more than", "share of rows")),
        ("#changes", ("this many changes", "are at least")),
    ],
)
def test_hovering_over_a_curve_shows_its_values(page, chart, words):
    page.locator(chart).scroll_into_view_if_needed()
    box = page.locator(f"{chart} canvas").first.bounding_box()
    for share in (0.2, 0.25):
        page.mouse.move(box["x"] + share * box["width"], box["y"] + 0.5 * box["height"])
        page.wait_for_timeout(200)
    read = page.locator(".bk-Tooltip").first.evaluate("tooltip => tooltip.shadowRoot.textContent", timeout=5000)
    assert all(each in read for each in words)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_and_background_have_contrast_in_light_and_dark(page, scheme):
    page.emulate_media(color_scheme=scheme)
    ink, paper = page.evaluate(
        "[getComputedStyle(document.body).color, getComputedStyle(document.body).backgroundColor]"
    )
    brightness = [sum(int(part) for part in colour[4:-1].split(",")) for colour in (ink, paper)]
    assert abs(brightness[0] - brightness[1]) > 400
    assert (brightness[0] < brightness[1]) == (scheme == "light")


def test_charts_and_the_list_of_points_follow_light_and_dark(page):
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
    assert page.locator("figure svg text").first.evaluate("text => getComputedStyle(text).fill") == "rgb(230, 233, 236)"


def test_print_is_light_with_static_pictures_and_open_details(page):
    page.emulate_media(media="print", color_scheme="dark")
    page.set_viewport_size({"width": 718, "height": 1000})  # what is between the margins of a sheet of A4
    assert page.evaluate("document.documentElement.scrollWidth") <= 718
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert all(picture.is_visible() for picture in page.locator(".replaced").all())
    assert not page.locator("#chart").is_visible()
    assert not page.locator("#changes").is_visible()
    ink = page.locator(".replaced svg text").first.evaluate("text => getComputedStyle(text).fill")
    assert ink == "rgb(27, 31, 36)"
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("#certificate").is_visible()
    assert not page.locator(".code pre").is_visible()  # JSON is not for paper
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details[open]:has(#certificate)").count() == 0


def n_pages(page):
    return {len(re.findall(rb"/Type */Page\b", page.pdf(format=size))) for size in ("Letter", "A4")}


def test_essentials_with_scores_a_command_and_requirements_fit_on_one_page(browser, tmp_path):
    X, y = load_diabetes(return_X_y=True)
    result = study(BaggedRegressor(n_bags=500, random_state=0), X, y, n_refits=20)
    command = (
        "stablebag measure patients.csv --target outcome --output report.html --n-bags 500 --refits 20 --matched 20"
    )
    about = Colophon.of(result, data="patients.csv", target="outcome", command=command)
    opened = browser.new_page()
    opened.emulate_media(media="print")
    for requirements in ((), ("Holds: typical change<=3, with 1.55 (measured).",) * 3):
        path = write(tmp_path / f"{len(requirements)}.html", result, colophon=about, requirements=requirements)
        opened.goto(f"{path.as_uri()}#one-page")
        assert opened.locator("#errors-table").is_visible()
        assert opened.locator("#scores-table").is_visible()
        assert opened.locator("#requirements p").count() == len(requirements) + bool(requirements)
        assert n_pages(opened) == {1}
    opened.close()


def test_essentials_fit_on_one_page(report, page):
    path, result = report
    page.goto(f"{path.as_uri()}#one-page")
    page.emulate_media(media="print")
    assert page.inner_text("h1") == "The stability of a decision tree"
    assert page.inner_text("#summary div:nth-child(4) dd") == result.summary()[3].text
    assert all(page.locator(f"#{name}").is_visible() for name in ("changes-table", "guarantee", "colophon"))
    assert not page.locator("#certificate").is_visible()
    assert n_pages(page) == {1}
    page.emulate_media(media="screen")
    page.click("text=Show the whole report")
    assert page.locator("#chart canvas").first.bounding_box()["width"] > 200
    page.click("text=Show only the essentials")
    assert not page.locator("#chart").is_visible()
