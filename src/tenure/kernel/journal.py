"""Entries of the journal: made with the transition that they describe, deciding nothing."""

from tenure.kernel.state import Attempt, Entry
from tenure.model.instant import InstantMs, format_instant, to_datetime
from tenure.model.json_value import JsonText, encode_checked


def detail(**members: str | int | bool | None) -> JsonText:
    """Encode the facts of an entry; a member named ``…At`` is an instant in milliseconds."""
    for name, value in members.items():
        if type(value) is int and name.endswith("At"):
            members[name] = format_instant(to_datetime(InstantMs(value)))
    return encode_checked(members)


def entry(
    attempt: Attempt,
    event: str,
    *,
    actor: str,
    generation: int | None = None,
    evidence: JsonText | None = None,
    detail: JsonText | None = None,
    fold_key: str | None = None,
) -> Entry:
    """Make an entry about an attempt."""
    return Entry(
        event=event,
        execution_id=attempt.execution_id,
        execution_attempt_id=attempt.execution_attempt_id,
        actor=actor,
        generation=generation,
        evidence=evidence,
        detail=detail,
        fold_key=fold_key,
    )


def with_ref(ref: JsonText) -> JsonText:
    """Encode a detail that holds nothing but an allocation reference."""
    return JsonText(f'{{"allocationRef":{ref}}}')
