"""Markdown as a reader sees it, rendered as on GitHub."""

from html.parser import HTMLParser


class _Reader(HTMLParser):
    def __init__(self):
        super().__init__()
        self.texts, self.tags = [""], set()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag != "strong":
            self.texts.append("")

    def handle_data(self, data):
        self.texts[-1] += data


def rendered(markdown):
    """Return the visible text of each paragraph, item and cell of Markdown, and the names of all tags."""
    from markdown_it import MarkdownIt

    reader = _Reader()
    reader.feed(MarkdownIt("commonmark").enable(["table", "strikethrough"]).render(markdown))
    return [text.strip() for text in reader.texts if text.strip()], reader.tags


HOSTILE = [
    "a|b", "|", "||", "|---|", "\\|", "a\\", "*x*", "**a", "_y_", "__z__", "snake_case_", "<b>q</b>", "<!-- x -->",
    "<script>alert(1)</script>", "[l](http://x.y)", "![i](x)", "[a]: b", "`c`", "~~s~~", "&amp; &lt;", "&#35;", "$x$",
    "1. a", "1) b", "2.", "- a", "+", "# h", "#", "===", "---", "* * *", "> q", "    code", "a  \nb", "a\r\n# b",
    "\x1b[31mred", "\u202eleft", "-0.5", "#5", "C:\\new_dir\\*",
]  # fmt: skip
