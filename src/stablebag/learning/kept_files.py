"""A folder of files that have a checksum in their names, so that a damaged one is noticed, set aside and made again."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from stablebag._writing import partial_file
from stablebag.learning.progress import notice

_DIGITS = 16  # of the checksum, in the name
_DAMAGED = "damaged-"


class KeptFiles:
    """Files by name in a folder, which is created if needed.

    Parameters
    ----------
    folder : str or Path
        The folder.
    ending : str
        The ending of the files; their names have no other dots.
    """

    def __init__(self, folder: str | Path, ending: str) -> None:
        self.folder, self.ending = Path(folder), ending
        self.folder.mkdir(parents=True, exist_ok=True)
        self.paths: dict[str, list[Path]] = {}
        for path in sorted(self.folder.iterdir()):
            name, *rest = path.name.split(".", 1)
            if rest and path.name.endswith(ending) and not name.startswith(_DAMAGED):
                self.paths.setdefault(name, []).append(path)

    def __contains__(self, name: object) -> bool:
        return name in self.paths

    def read(self, name: str, load: Callable[[Path], Any], default: Any = None) -> Any:
        """Return what `load` makes of the file of that name; `default` if there is none, or none that is as written.

        What `load` refuses is damaged as well: it was written by something else, or by another version.
        """
        for path in self.paths.get(name, ()):
            try:
                if path.name == self._named(name, path):
                    return load(path)
            except FileNotFoundError:  # somebody has tidied up
                continue
            except Exception:  # whatever an unpickler or a reader of arrays makes of what it was not made for
                pass
            aside = path.with_name(_DAMAGED + path.name)
            path.replace(aside)
            self.paths[name] = [other for other in self.paths[name] if other != path]
            notice(f"The file {path} is damaged. It was set aside as {aside.name}, and what was in it is made again.")
        return default

    def write(self, name: str, save: Callable[[Path], Any]) -> None:
        """Keep what `save` writes to a path under a name."""
        with partial_file(self.folder, self.ending) as partial:
            save(partial)
            path = self.folder / self._named(name, partial)
            partial.replace(path)
        self.paths[name] = [path]

    def _named(self, name: str, path: Path) -> str:
        with path.open("rb") as file:
            return f"{name}.{hashlib.file_digest(file, 'sha256').hexdigest()[:_DIGITS]}{self.ending}"
