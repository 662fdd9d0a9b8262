"""The queries, by name: SQL lives in ``queries.sql`` and in the numbered migrations."""

import re
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Final

_HEADING: Final = re.compile(r"^-- name: (?P<name>[a-z_]+)\n(?:--.*\n)+", re.MULTILINE)
_PACKAGE: Final = "tenure.stores.sqlite"


def _read_queries() -> Mapping[str, str]:
    text = (files(_PACKAGE) / "queries.sql").read_text("utf-8")
    _preamble, *parts = _HEADING.split(text)
    names, bodies = parts[::2], parts[1::2]
    assert len(set(names)) == len(names)
    return MappingProxyType(
        {name: body.strip().rstrip(";") for name, body in zip(names, bodies, strict=True)}
    )


def _read_migrations() -> tuple[str, ...]:
    folder = files(_PACKAGE) / "migrations"
    found = sorted((f for f in folder.iterdir() if f.name.endswith(".sql")), key=lambda f: f.name)
    assert [int(f.name[:4]) for f in found] == list(range(1, len(found) + 1))
    return tuple(f.read_text("utf-8") for f in found)


QUERIES: Final = _read_queries()
"""Query text by name."""
MIGRATIONS: Final = _read_migrations()
"""What makes version n + 1 of the schema out of version n, by n."""
