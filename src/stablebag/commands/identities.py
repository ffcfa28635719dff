"""Columns that are called like identities: patient_id, user, site, and numbers of rows."""

import re

_IDENTITIES = {"id", "ids", "uid", "uuid", "guid", "identifier"}
_UNITS = {
    "patient", "subject", "participant", "respondent", "person", "individual", "donor", "animal", "mouse", "rat",
    "plant", "tree", "customer", "client", "user", "member", "employee", "worker", "student", "pupil", "teacher",
    "author", "speaker", "player", "team", "driver", "household", "family", "litter", "school", "hospital", "clinic",
    "physician", "doctor", "site", "centre", "center", "lab", "company", "firm", "store", "shop", "account", "card",
    "device", "sensor", "machine", "vehicle", "station", "farm", "plot", "village",
}  # fmt: skip
_ALONE = {"group", "groups", "cluster"}  # age_group is none
_ENDINGS = {"no", "nr", "number", "code", "key", "name"}  # after a unit: patient_no
_COUNTS = {"n", "num", "number", "count", "per", "of", "mean", "total"}  # n_patient is no patient
_ROWS = {"index", "row", "rownames", "rowname", "rownumber", "rowid", "unnamed"}


def is_called_like_units(name: str) -> bool:
    """Whether a column is called like one that says whose rows are whose."""
    parts = _parts(name)
    if not parts or set(parts[:-1]) & _COUNTS:
        return False
    if parts[-1] in _IDENTITIES or parts[0] in _IDENTITIES:
        return True
    if len(parts) == 1 and parts[0] in _ALONE:
        return True
    return parts[-1] in _UNITS or (len(parts) > 1 and parts[-1] in _ENDINGS and parts[-2] in _UNITS)


def is_called_like_an_id(name: str) -> bool:
    """Whether a column is called like one that names rows: id, patient_no, index, or nothing at all."""
    return is_called_like_units(name) or "".join(_parts(name)) in _ROWS


def _parts(name: str) -> list[str]:
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return re.sub(r"[\W_\d]+", " ", words).lower().split()
