"""The journal: one entry for each transition, written with it, deciding nothing."""

from datetime import datetime
from typing import Final

import msgspec

from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.json_value import JsonObject

JOURNAL_PAGE_MAX: Final = 1000
"""Most entries of one page of the journal."""


class JournalEntry(msgspec.Struct, frozen=True, kw_only=True):
    """What happened, who did it, and on what evidence."""

    sequence: int
    """Position in this ledger's journal; a reader's cursor."""
    at: datetime
    """The ledger's clock."""
    event: str
    """Past tense, kebab-case: ``allocation-recorded``, ``claim-taken-over`` …"""
    execution_id: str
    execution_attempt_id: str | None
    actor: str
    """The claim's owner, ``worker``, or the name under which the handle acts."""
    generation: int | None
    evidence: BoundedRecoveryEvidence | None
    detail: JsonObject
    """Facts that belong to the event: reference, lease, obligation, settlement kind …"""
    count: int
    """How often; over 1 where equal doubts were folded into one entry."""
    last_at: datetime
    """The newest of the folded ones; equals ``at`` otherwise."""
