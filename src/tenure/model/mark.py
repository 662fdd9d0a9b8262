"""The mark: what infrastructure carries, so that it can be found again and told from others'."""

import hashlib
from typing import Final

_LEDGER_DIGITS: Final = 12
_ATTEMPT_DIGITS: Final = 24


def make_mark(ledger_id: str, execution_attempt_id: str) -> str:
    """Join two digests: whose it is, and which attempt. 37 characters of ``[0-9a-f-]``.

    Fits labels, job names and client tokens, and serves as the idempotency key of the one call.
    """
    whose = hashlib.sha256(ledger_id.encode()).hexdigest()[:_LEDGER_DIGITS]
    which = hashlib.sha256(execution_attempt_id.encode()).hexdigest()[:_ATTEMPT_DIGITS]
    return f"{whose}-{which}"


def is_mark_of(ledger_id: str, mark: str) -> bool:
    """Tell whether a mark belongs to this ledger. A foreign mark is reported, never touched."""
    return mark.partition("-")[0] == make_mark(ledger_id, "").partition("-")[0]
