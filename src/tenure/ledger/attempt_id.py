"""Attempt ids that two authorities derive alike, so that they cannot both make a retry."""

import uuid
from typing import Final

_NAMESPACE: Final = uuid.UUID("5f1d8a52-7b1e-5c3a-9d55-0f6f2f9a7c11")


def derive_attempt_id(execution_id: str, ordinal: int) -> str:
    """Derive the id of an execution's n-th attempt; ``ordinal`` starts at 1."""
    return str(uuid.uuid5(_NAMESPACE, f"{execution_id}\n{ordinal}"))
