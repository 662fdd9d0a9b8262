"""Executions whose submitter died before it began: nothing was called, so they are settled.

A pending attempt has no operation that could be taken over, and no lease. It is given up only when
its execution was cancelled, or on the proven death of the process that submitted it; a living or
unknown submitter may still begin.
"""

from collections.abc import Sequence
from typing import Final

from tenure.errors import TenureError
from tenure.ledger.attempt_id import derive_attempt_id
from tenure.ledger.ledger import Ledger
from tenure.model.decision import Abandoned
from tenure.model.execution import ExecutionRecord
from tenure.ports.incarnation import IncarnationDead, IncarnationWitness
from tenure.remediation.controller import Ending, WorkReport

_PAGE: Final = 200


async def settle_undispatched(ledger: Ledger, witness: IncarnationWitness) -> Sequence[WorkReport]:
    """Abandon every attempt that can never begin, and report each."""
    reports: list[WorkReport] = []
    after: ExecutionRecord | None = None
    while True:
        page = await ledger.list_executions(concluded=False, after=after, limit=_PAGE)
        for execution in page:
            report = await _settle(ledger, witness, execution)
            if report is not None:
                reports.append(report)
        if len(page) < _PAGE:
            return reports
        after = page[-1]


async def abandon_if_undispatched(
    ledger: Ledger, witness: IncarnationWitness, execution: ExecutionRecord
) -> bool:
    """Abandon the attempt of one execution if it can never begin; True when that was done."""
    return await _settle(ledger, witness, execution) is not None


async def _settle(
    ledger: Ledger, witness: IncarnationWitness, execution: ExecutionRecord
) -> WorkReport | None:
    attempt_id = execution.active_attempt_id or derive_attempt_id(execution.execution_id, 1)
    try:
        if not await _is_undispatched(ledger, execution):
            return None
        reason = _reason(witness, execution)
        if reason is None:
            return None
        if execution.active_attempt_id is None:
            await ledger.ensure_attempt(
                execution_id=execution.execution_id, execution_attempt_id=attempt_id
            )
        decision = await ledger.abandon_pending_attempt(
            execution_attempt_id=attempt_id, execution_id=execution.execution_id
        )
    except Exception as exc:  # noqa: BLE001 - one execution's trouble never stops the others
        seen = str(exc) if isinstance(exc, TenureError) else type(exc).__name__
        return _report(execution, attempt_id, "failed", seen)
    if not isinstance(decision, Abandoned):
        return None  # somebody began it, or ended it, in between
    return _report(execution, attempt_id, "closed", reason)


def _reason(witness: IncarnationWitness, execution: ExecutionRecord) -> str | None:
    """Say why nobody can or may begin it any more, or None."""
    if execution.cancellation is not None:
        return "it was cancelled before it began"
    if execution.submitted_by is None:
        return None
    seen = witness.observe(execution.submitted_by)
    if not isinstance(seen, IncarnationDead):
        return None
    return f"its submitter died before it began: {seen.reason}"


async def _is_undispatched(ledger: Ledger, execution: ExecutionRecord) -> bool:
    if execution.active_attempt_id is None:
        return True
    attempt = await ledger.get_active_attempt(
        execution_id=execution.execution_id,
        execution_attempt_id=execution.active_attempt_id,
    )
    return attempt is not None and attempt.status == "pending"


def _report(execution: ExecutionRecord, attempt_id: str, ending: Ending, detail: str) -> WorkReport:
    return WorkReport(
        execution_id=execution.execution_id,
        execution_attempt_id=attempt_id,
        ending=ending,
        detail=detail,
    )
