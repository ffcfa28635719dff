"""Settings of the site, for `make docs`. Nothing is downloaded while it is built or read."""

import os
import re
import sys
from importlib.metadata import version as installed_version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

os.environ.setdefault("MPLBACKEND", "agg")
HERE = Path(__file__).parent
ROOT = HERE.parent
sys.path.insert(0, str(HERE))

import api_pages  # noqa: E402
import gallery_pages  # noqa: E402
from sphinx_gallery.sorting import ExplicitOrder, FunctionSortKey  # noqa: E402

MATHJAX = Path(next(iter(find_spec("sphinx-mathjax-offline").submodule_search_locations))) / "static"

project = "stablebag"
author = "The stablebag developers"
copyright = author
version = release = installed_version("stablebag")

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
    "sphinx_design",
    "sphinx_copybutton",
]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "api/overview.md"]
templates_path = ["_templates"]
default_role = "py:obj"  # in docstrings, `name` links to the object of that name, if there is one
suppress_warnings = ["config.cache"]  # the gallery's settings hold a function

# Markdown pages: mathematics in dollars, links to headings.
myst_enable_extensions = ["dollarmath", "amsmath", "colon_fence", "deflist"]
myst_heading_anchors = 3
myst_dmath_double_inline = True
myst_dmath_allow_space = False
myst_dmath_allow_digits = False
mathjax_path = "mathjax/tex-chtml.js"  # part of the site, with its fonts

# The reference.
autosummary_generate = True
autosummary_context = {"for_users": api_pages.FOR_USERS}
autodoc_typehints = "none"  # docstrings describe the arguments
autodoc_member_order = "bysource"
toc_object_entries_show_parents = "hide"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

# The gallery runs examples/<section>/plot_<name>.py.
sphinx_gallery_conf = {
    "examples_dirs": ["../examples"],
    "gallery_dirs": ["auto_examples"],
    "filename_pattern": gallery_pages.executed(ROOT / "examples"),
    "ignore_pattern": r"(?:^|[\\/])(?!plot_)[^\\/]*\.py$",
    "subsection_order": ExplicitOrder([*gallery_pages.order(ROOT / "examples", HERE), "*"]),
    "within_subsection_order": FunctionSortKey(gallery_pages.place),
    "backreferences_dir": "api/backreferences",
    "doc_module": ("stablebag",),
    "reference_url": {"stablebag": None},
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,  # these pages would download scripts
    "abort_on_example_error": False,
}

# Appearance.
html_theme = "pydata_sphinx_theme"
html_title = "stablebag"
html_static_path = ["_static", str(MATHJAX)]
html_css_files = ["site.css"]
html_favicon = "_static/icon.svg"
html_context = {"default_mode": "auto"}
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "stablebag"},
    "header_links_before_dropdown": 6,
    "navigation_with_keys": False,
    "show_prev_next": True,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "back_to_top_button": False,
}
html_sidebars = {"index": [], "start": [], "glossary": [], "compare": [], "proofs": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

# Files at the root of the project that also become pages of the site, if they exist.
PROJECT = ("CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md")
ENTRY = re.compile(r"^```\{toctree\}\n(.*?)^```", re.MULTILINE | re.DOTALL)


def project_pages(folder: Path) -> None:
    """Write a page for each of these files, and turn its links into links within the site."""
    folder.mkdir(exist_ok=True)
    pages = [name for name in PROJECT if (ROOT / name).exists()]
    for name in pages:
        text = (ROOT / name).read_text()
        text = re.sub(r"\]\(docs/", "](../", text)
        for other in pages:
            text = text.replace(f"]({other}", f"](./{other.lower()}")
        text = re.sub(r"\[([^\]]*)\]\((?!https?:|\.|#)[^)]*\)", r"\1", text)  # other files are not pages of the site
        (folder / name.lower()).write_text(text)


def complete(app: object, docname: str, source: list[str]) -> None:
    """Add pages without a place to the user guide, and remove the empty line at the end of code blocks."""
    source[0] = source[0].replace("\n\n```\n", "\n```\n")  # doctest needs the empty line
    source[0] = re.sub(r"\]\(\.\./examples/(\w+/plot_\w+)\.py\)", r"](auto_examples/\1.rst)", source[0])
    if docname == "guide":
        lists = [body for page in HERE.glob("*.md") for body in ENTRY.findall(page.read_text())]
        named = {line.split("<")[-1].strip(" >") for body in lists for line in body.split("\n")}
        others = sorted({page.stem for page in HERE.glob("*.md")} - named - {"index"})
        source[0] = source[0].replace("% the others\n", "".join(f"{name}\n" for name in others))


def public_name(app: Any, env: Any, node: Any, contnode: Any) -> Any:
    """Link a name such as `RankSets` in a docstring of another subpackage to its page."""
    if node.get("refdomain") != "py" or (name := api_pages.full_name(node["reftarget"])) is None:
        return None
    return env.get_domain("py").resolve_xref(env, node["refdoc"], app.builder, "obj", name, node, contnode)


api_pages.write(HERE / "api")
project_pages(HERE / "project")


def setup(app: object) -> None:  # noqa: D103
    app.connect("source-read", complete)
    app.connect("missing-reference", public_name)
