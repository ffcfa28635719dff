"use strict";
// In a browser, the report sorts tables, shows a chosen test point, follows light and dark, and opens details for print.
document.documentElement.classList.add("js");

for (const button of document.querySelectorAll(".sortable th button")) {
  button.addEventListener("click", () => {
    const head = button.closest("th"), body = head.closest("table").tBodies[0];
    const column = [...head.parentNode.children].indexOf(head), down = head.getAttribute("aria-sort") === "descending";
    for (const other of head.parentNode.children) other.setAttribute("aria-sort", "none");
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    const sign = down ? 1 : -1;
    const compare = (one, other) => {
      const [a, b] = [one.children[column], other.children[column]];
      const [x, y] = [a, b].map((cell) => ("value" in cell.dataset ? Number(cell.dataset.value) : NaN));
      if (Number.isNaN(x) !== Number.isNaN(y)) return Number.isNaN(x) ? 1 : -1; // numbers before texts
      return sign * (Number.isNaN(x) ? a.textContent.localeCompare(b.textContent, "en", { numeric: true }) : x - y);
    };
    body.append(...[...body.rows].sort(compare));
  });
}

// Only tables that are wider than the screen can be scrolled, and need the focus of the keyboard for it.
const sizes = new ResizeObserver((entries) => {
  for (const { target } of entries) {
    const scrolls = target.scrollWidth > target.clientWidth + 1;
    target.classList.toggle("scrolls", scrolls);
    target.tabIndex = scrolls ? 0 : -1;
  }
});
for (const box of document.querySelectorAll(".wide")) sizes.observe(box);

const closed = new Set();
addEventListener("beforeprint", () => {
  for (const one of document.querySelectorAll("details:not([open], .code)")) {
    closed.add(one);
    one.open = true;
  }
});
addEventListener("afterprint", () => {
  for (const one of closed) one.open = false;
  closed.clear();
});

const moves = JSON.parse(document.getElementById("moves").textContent);
const dark = window.matchMedia("(prefers-color-scheme: dark)");

function chosen(point) {
  for (const [name, curve] of Object.entries(moves[point])) {
    for (const page of Bokeh.documents) {
      const source = page.get_model_by_name(`curve ${name}`);
      if (source) source.data = curve;
    }
  }
}

function inked() {
  const style = getComputedStyle(document.documentElement);
  const [ink, line] = ["--ink", "--line"].map((name) => style.getPropertyValue(name).trim());
  for (const model of Bokeh.documents.flatMap((page) => [...page.all_models])) {
    if (model.type.endsWith("Axis")) {
      const colours = ["axis_label_text", "major_label_text", "axis_line", "major_tick_line"];
      model.setv(Object.fromEntries(colours.map((name) => [`${name}_color`, ink])));
    } else if (model.type === "Grid") {
      model.setv({ grid_line_color: line });
    } else if (model.type === "Figure" || model.type === "Plot") {
      model.setv({ outline_line_color: line });
    }
  }
}

function ready() {
  if (!globalThis.Bokeh || !Bokeh.documents.length) {
    setTimeout(ready, 20);
    return;
  }
  inked();
  dark.addEventListener("change", inked);
  document.getElementById("point").addEventListener("change", (event) => chosen(event.target.value));
  document.getElementById("chart").dataset.ready = "yes";
}
ready();
