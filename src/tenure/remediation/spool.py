"""Spooled outcomes: what a worker wrote down and could not deliver.

They are delivered before any absence, termination or loss is recorded. An outcome of other ids, or
one that the ledger refuses as malformed, can never be delivered: it is told as a doubt, stays where
it is, and stops nothing. A spool that cannot be read may hold the answer of an attempt that still
may get one, and is waited for.
"""

from datetime import datetime
from typing import Final

import msgspec

from tenure.errors import InvalidInputError
from tenure.ledger.ledger import Ledger
from tenure.model.decision import AcceptedOutcome
from tenure.model.open_work import OpenWork
from tenure.ports.provider import ProviderRecovery, SpooledOutcome
from tenure.remediation.calls import Caller, describe_failure
from tenure.remediation.observation import Sight, undetermined

SPOOL_MISMATCH: Final = "spool-mismatch"
SPOOL_UNUSABLE: Final = "spool-unusable"
SPOOL_UNREADABLE: Final = "spool-unreadable"


class Delivery(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a spool."""

    accepted: bool = False
    """Whether it held the outcome that settled the attempt."""
    doubt: Sight | None = None
    """What is wrong with it."""
    blocks: bool = False
    """Whether nothing may be concluded before the doubt is gone."""


async def deliver_spool(
    ledger: Ledger, work: OpenWork, recovery: ProviderRecovery, caller: Caller, *, now: datetime
) -> Delivery:
    """Commit the outcome that a worker left behind, if there is one.

    Whatever the ledger answers is final, so the spool is dropped with it.

    Raises:
        ClaimLost: the claim no longer holds.
    """
    answer: object = await caller.call(lambda: recovery.spooled_outcome(mark=work.mark))
    if answer is None:
        return Delivery()
    if not isinstance(answer, SpooledOutcome):
        seen = f"the spool cannot be read: {describe_failure(answer)}"
        doubt = undetermined(now, seen, code=SPOOL_UNREADABLE)
        # After a settlement or a supersession no outcome can be accepted any more.
        return Delivery(doubt=doubt, blocks=work.kind == "operation" and work.active)
    if not await _is_of(ledger, work, answer):
        seen = "the spool holds an outcome of another execution, attempt or workflow"
        return Delivery(doubt=undetermined(now, seen, code=SPOOL_MISMATCH))
    try:
        decision = await ledger.commit_outcome(
            execution_attempt_id=work.execution_attempt_id,
            execution_id=work.execution_id,
            result=answer.result,
        )
    except InvalidInputError:
        seen = "the spool holds an outcome that the ledger refuses as malformed"
        return Delivery(doubt=undetermined(now, seen, code=SPOOL_UNUSABLE))
    await caller.call(lambda: recovery.acknowledge_outcome(mark=work.mark))
    return Delivery(accepted=isinstance(decision, AcceptedOutcome))


async def _is_of(ledger: Ledger, work: OpenWork, spooled: SpooledOutcome) -> bool:
    ids = (spooled.execution_id, spooled.execution_attempt_id)
    if ids != (work.execution_id, work.execution_attempt_id):
        return False
    if getattr(spooled.result, "execution_id", None) != work.execution_id:
        return False
    execution = await ledger.get_execution(execution_id=work.execution_id)
    if execution is None or execution.submission is None:
        return True
    return getattr(spooled.result, "workflow_id", None) == execution.submission.workflow_id
