from pathlib import Path

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items):
    """Mark the examples in pages slow: they fit models of hundreds of bags."""
    for item in items:
        if item.path.parent == HERE:
            item.add_marker("slow")
