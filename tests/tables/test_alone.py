"""The room of tables works without the command line."""

import subprocess
import sys


def test_tables_are_read_without_click_and_rich():
    code = (
        "import sys; sys.modules['click'] = sys.modules['rich'] = None; "
        "import stablebag.tables.columns, stablebag.tables.parquet, stablebag.tables.text"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
