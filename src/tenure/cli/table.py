"""Tables for people: aligned, as wide as the terminal, and never cut where there is none."""

import os
from collections.abc import Sequence
from typing import Final

from rich.console import Console
from rich.table import Table
from rich.text import Text

from tenure.cli.writing import STDOUT, printable

_WIDE: Final = 100_000
"""Columns where nobody looks: in a pipe or a file nothing is wrapped or cut."""


def render_table(titles: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Lay rows out in columns; the last one may wrap."""
    table = Table(box=None, pad_edge=False, show_edge=False, padding=(0, 2, 0, 0))
    for number, title in enumerate(titles):
        is_last = number == len(titles) - 1
        table.add_column(Text(title, style="bold"), no_wrap=not is_last, overflow="fold")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return _render(table)


def render_facts(facts: Sequence[tuple[str, str]]) -> str:
    """Lay names and values out in two columns; an empty value leaves its line out."""
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True, style="dim")
    table.add_column(overflow="fold")
    for name, value in facts:
        if value:
            table.add_row(name, Text("\n".join(map(printable, value.split("\n")))))
    return _render(table)


def render_title(text: str) -> str:
    """Render a heading."""
    return _render(Text(printable(text), style="bold"))


def _render(content: Table | Text) -> str:
    is_terminal = os.isatty(STDOUT)
    console = Console(
        width=None if is_terminal else _WIDE, force_terminal=is_terminal or None, highlight=False
    )
    with console.capture() as capture:
        console.print(content)
    return "\n".join(line.rstrip() for line in capture.get().splitlines())
