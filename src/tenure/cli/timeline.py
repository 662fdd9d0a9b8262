"""The journal as a timeline."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

from tenure.cli.duration import render_clock, render_span
from tenure.cli.names import describe_actor
from tenure.cli.table import render_table
from tenure.ledger.ledger import Ledger
from tenure.model.journal import JOURNAL_PAGE_MAX, JournalEntry
from tenure.model.json_value import JsonValue
from tenure.wire.json_text import dump_json

_SHOWN_LENGTH: Final = 160
"""Longest detail; the JSON document has all of it."""
_SAID_ABOVE: Final = frozenset({"execution-submitted", "cancellation-requested"})
"""Events whose facts stand above the timeline already."""
_FOR_PROGRAMS: Final = frozenset({"mark", "observedAt", "provisionerIncarnationId"})
"""Facts that tell people nothing new."""


async def read_whole_journal(
    ledger: Ledger,
    *,
    execution_id: str | None = None,
    execution_attempt_id: str | None = None,
    after: int = 0,
) -> list[JournalEntry]:
    """Read all entries of an execution or of an attempt."""
    entries: list[JournalEntry] = []
    while True:
        page = await ledger.read_journal(
            execution_id=execution_id,
            execution_attempt_id=execution_attempt_id,
            after=entries[-1].sequence if entries else after,
            limit=JOURNAL_PAGE_MAX,
        )
        entries.extend(page)
        if len(page) < JOURNAL_PAGE_MAX:
            return entries


def render_timeline(entries: Sequence[JournalEntry]) -> str:
    """Lay entries out: when, how long after the first, what, who, and on what evidence."""
    if not entries:
        return "nothing"
    first = entries[0].at
    rows = [
        (
            render_clock(entry.at),
            f"+{render_span(entry.at - first)}",
            describe_event(entry),
            describe_actor(entry.actor),
            _describe_evidence(entry),
        )
        for entry in entries
    ]
    return render_table(("UTC", "AFTER", "WHAT", "WHO", "EVIDENCE AND FACTS"), rows)


def describe_event(entry: JournalEntry) -> str:
    """Name what happened, and how often."""
    is_late = entry.event == "write-refused" and entry.detail.get("decision") == "resolved"
    event = "came-late" if is_late else entry.event
    if entry.count == 1:
        return event
    return f"{event}, {entry.count} times until {render_clock(entry.last_at)}"


def _describe_refusal(entry: JournalEntry) -> str:
    """Tell a refused write: most come from two who were right at different times."""
    operation = str(entry.detail.get("operation")).replace("-", " ")
    why = {
        "resolved": "that was settled already, and nothing was lost",
        "stale": "somebody else holds the claim by now",
    }.get(str(entry.detail.get("decision")), f"{entry.detail.get('decision')}")
    return f"{operation}: {why}"


def _describe_evidence(entry: JournalEntry) -> str:
    if entry.event == "write-refused":
        return _describe_refusal(entry)
    parts = []
    if entry.evidence is not None:
        code = "" if entry.evidence.code is None else f" [{entry.evidence.code}]"
        parts.append(f"{entry.evidence.summary}{code}")
    if entry.event not in _SAID_ABOVE:
        parts += [
            f"{name}={_show(name, value, entry.at)}"
            for name, value in entry.detail.items()
            if value is not None and name not in _FOR_PROGRAMS
        ]
    return "; ".join(parts)


def _show(name: str, value: JsonValue, at: datetime) -> str:
    text: str
    if not isinstance(value, str):
        text = dump_json(value)
    elif name.endswith("OwnerId") or name == "ownerId":
        text = describe_actor(value)
    elif name.endswith("At"):
        day, _, clock = value.partition("T")
        text = clock if day == at.date().isoformat() else value
    else:
        text = value
    return text if len(text) <= _SHOWN_LENGTH else text[:_SHOWN_LENGTH] + "…"
