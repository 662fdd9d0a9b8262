"""Executions whose submitter died before it began: nothing was called, so they are settled.

A pending attempt has no operation that could be taken over, and no lease. It is given up only on
the proven death of the process that submitted it; a living or unknown submitter may still begin.
"""

from collections.abc import Sequence
from typing import Final

from tenure.errors import TenureError
from tenure.ledger.attempt_id import derive_attempt_id
from tenure.ledger.ledger import Ledger
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
    if execution.submitted_by is None or not await _is_undispatched(ledger, execution):
        return None
    seen = witness.observe(execution.submitted_by)
    if not isinstance(seen, IncarnationDead):
        return None
    attempt_id = execution.active_attempt_id or derive_attempt_id(execution.execution_id, 1)
    try:
        if execution.active_attempt_id is None:
            await ledger.ensure_attempt(
                execution_id=execution.execution_id, execution_attempt_id=attempt_id
            )
        await ledger.abandon_pending_attempt(
            execution_attempt_id=attempt_id, execution_id=execution.execution_id
        )
    except TenureError as exc:
        return _report(execution, attempt_id, "failed", str(exc))
    detail = f"its submitter died before it began: {seen.reason}"
    return _report(execution, attempt_id, "closed", detail)


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
