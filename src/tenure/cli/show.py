"""``tenure show``: everything that the ledger knows about one execution."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from tenure.cli.debt import Debt, describe_holder, judge, list_all_open
from tenure.cli.duration import render_instant, render_relative
from tenure.cli.exit_code import OK
from tenure.cli.names import describe_actor
from tenure.cli.opening import hint, open_existing
from tenure.cli.options import Common
from tenure.cli.table import render_facts, render_title
from tenure.cli.timeline import read_whole_journal, render_timeline
from tenure.cli.view import (
    Sighting,
    describe_attempts,
    describe_command,
    describe_end,
    document_of,
    sight,
)
from tenure.cli.writing import formed, put, put_json
from tenure.errors import InvalidInputError
from tenure.ledger.ledger import Ledger
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.execution import ExecutionRecord, SettlementRecord
from tenure.model.journal import JournalEntry
from tenure.model.json_value import JsonValue
from tenure.model.open_work import ReclamationRecord
from tenure.model.operation import ProviderOperationRecord
from tenure.model.result import FailedResult
from tenure.wire.attempt_folder import OUTPUT_FILE
from tenure.wire.codec import to_json
from tenure.wiring.ledgers import state_folder
from tenure.wiring.providers import ATTEMPTS_FOLDER, open_providers
from tenure.wiring.witness import HostWitness

REFERENCE_LENGTH: Final = 100


class AttemptView(msgspec.Struct, frozen=True, kw_only=True):
    """One attempt with all that belongs to it."""

    attempt: ExecutionAttemptRecord
    operation: ProviderOperationRecord | None
    reclamation: ReclamationRecord | None
    settlement: SettlementRecord | None
    debt: Debt | None


class ExecutionView(msgspec.Struct, frozen=True, kw_only=True):
    """One execution with all that belongs to it."""

    sighting: Sighting
    attempts: Sequence[AttemptView]
    journal: Sequence[JournalEntry]
    now: datetime


async def show(
    subject_id: str,
    /,
    *,
    common: Common = Common(),  # noqa: B008 - it is frozen
) -> int:
    """Show an execution: its state, its attempts, what is owed, and all that happened.

    Times are the ledger's, in UTC.

    Args:
        subject_id: An execution, or one of its attempts.
        common: Options of every command.
    """
    async with open_existing(common) as ledger:
        view = await _read(ledger, await _find(ledger, subject_id))
        if common.json:
            put_json(_document(ledger, view))
        else:
            put(_render(ledger, view))
    return OK


async def _find(ledger: Ledger, subject_id: str) -> ExecutionRecord:
    execution = await ledger.get_execution(execution_id=subject_id)
    if execution is None:
        attempt = await ledger.recovery.get_attempt_with_allocation(execution_attempt_id=subject_id)
        if attempt is not None:
            execution = await ledger.get_execution(execution_id=attempt.execution_id)
    if execution is None:
        raise InvalidInputError(
            field="id",
            given=f"{subject_id!r}, which is not in ledger {ledger.url}",
            allowed="the id of an execution or of an attempt",
        )
    return execution


async def _read(ledger: Ledger, execution: ExecutionRecord) -> ExecutionView:
    execution_id = execution.execution_id
    now, witness = await ledger.now(), HostWitness()
    journal = await read_whole_journal(ledger, execution_id=execution_id)
    providers = frozenset(open_providers(ledger))
    debts = {
        work.execution_attempt_id: judge(
            work,
            witness,
            now,
            ledger.url,
            is_submitted=execution.submitted_at is not None,
            providers=providers,
        )
        for work in await list_all_open(ledger, execution_id=execution_id)
    }
    ids = dict.fromkeys(
        entry.execution_attempt_id
        for entry in journal
        if entry.event == "attempt-created" and entry.execution_attempt_id is not None
    )
    attempts = [await _read_attempt(ledger, attempt_id, debts) for attempt_id in ids]
    return ExecutionView(
        sighting=await sight(ledger, execution),
        attempts=[attempt for attempt in attempts if attempt is not None],
        journal=journal,
        now=now,
    )


async def _read_attempt(
    ledger: Ledger, attempt_id: str, debts: Mapping[str, Debt]
) -> AttemptView | None:
    attempt = await ledger.recovery.get_attempt_with_allocation(execution_attempt_id=attempt_id)
    if attempt is None:
        return None
    return AttemptView(
        attempt=attempt,
        operation=await ledger.get_provider_operation(execution_attempt_id=attempt_id),
        reclamation=await ledger.get_reclamation(execution_attempt_id=attempt_id),
        settlement=await ledger.get_settlement(execution_attempt_id=attempt_id),
        debt=debts.get(attempt_id),
    )


def _document(ledger: Ledger, view: ExecutionView) -> Mapping[str, object]:
    return {
        **document_of(ledger, view.sighting),
        "now": view.now,
        "attempts": [_attempt_document(attempt) for attempt in view.attempts],
        "journal": view.journal,
    }


def _attempt_document(view: AttemptView) -> Mapping[str, object]:
    return formed(
        {
            "attempt": view.attempt,
            "operation": _without_token(view.operation),
            "reclamation": _without_token(view.reclamation),
            "settlement": view.settlement,
        }
    )


def _without_token(
    record: ProviderOperationRecord | ReclamationRecord | None,
) -> dict[str, JsonValue] | None:
    """Leave out the secret of a claim: whoever has it may act as its holder."""
    if record is None:
        return None
    return {name: value for name, value in to_json(record).items() if name != "token"}


def _render(ledger: Ledger, view: ExecutionView) -> str:
    parts = [_render_execution(ledger, view)]
    parts += [_render_attempt(attempt, view.now) for attempt in view.attempts]
    parts.append(f"{render_title('what happened')}\n{render_timeline(view.journal)}")
    return "\n\n".join(parts)


def _render_execution(ledger: Ledger, view: ExecutionView) -> str:
    sighting = view.sighting
    execution, end = sighting.execution, sighting.end
    cancellation = execution.cancellation
    asked = ""
    if cancellation is not None:
        reason = "" if cancellation.reason is None else f": {cancellation.reason}"
        when = _when(cancellation.requested_at, view.now)
        asked = f"requested by {cancellation.requested_by}, {when}{reason}"
    timeout = None if execution.submission is None else execution.submission.attempt_timeout_ms
    facts = [
        ("state", sighting.state if end is None else describe_end(end, None)),
        ("command", describe_command(execution)),
        ("submitted", _when(execution.submitted_at, view.now)),
        ("by", "" if execution.submitted_by is None else describe_actor(execution.submitted_by)),
        ("timeout", "" if timeout is None else f"{timeout / 1000:g} s for an attempt"),
        ("cancellation", asked),
        ("ended", _when(execution.concluded_at, view.now)),
        ("converged", _when(execution.converged_at, view.now)),
        ("error", _error(sighting.settlement)),
        ("attempts", describe_attempts(execution)),
        ("next attempt", _when(execution.next_attempt_at, view.now)),
        ("in doubt", _doubt(view)),
        ("output", _output(ledger, sighting)),
        ("ledger", ledger.url),
    ]
    return f"{render_title(execution.execution_id)}\n{render_facts(facts)}"


def _doubt(view: ExecutionView) -> str:
    """Tell what stands in the way of an execution that has not ended."""
    for attempt in view.attempts:
        work = None if attempt.debt is None else attempt.debt.work
        if work is not None and work.active and work.failure_count and work.last_failure:
            return work.last_failure.summary
    return ""


def _output(ledger: Ledger, sighting: Sighting) -> str:
    """Name the file of the output, where it is on this machine, and how to have it printed."""
    if sighting.attempt is None:
        return ""
    mark = ledger.mark_of(sighting.attempt.execution_attempt_id)
    path = state_folder() / ATTEMPTS_FOLDER / mark / OUTPUT_FILE
    lines = [str(path)] if path.is_file() else []
    if sighting.execution.submitted_at is not None:
        command = hint("wait", sighting.execution.execution_id, url=ledger.url)
        lines.append(f"`{command} --output`")
    return "\n".join(lines)


def _render_attempt(view: AttemptView, now: datetime) -> str:
    attempt, operation, reclamation = view.attempt, view.operation, view.reclamation
    settled = attempt.settlement_kind
    at = None if view.settlement is None else view.settlement.settled_at
    last = None if operation is None else operation.last_failure
    facts = [
        ("state", attempt.status if settled is None else f"settled: {settled}, {_when(at, now)}"),
        ("created", _when(attempt.created_at, now)),
        ("provider", f"{attempt.provider_id or 'none yet'}, {attempt.allocation_lifetime or ''}"),
        ("reference", "" if attempt.allocation_ref is None else _reference(attempt)),
        ("owes", _owes(view)),
        (
            "held by",
            "" if view.debt is None else describe_holder(view.debt.work, view.debt.holder, now),
        ),
        ("generation", "" if operation is None else str(operation.generation)),
        (
            "doubts",
            ""
            if operation is None or not operation.failure_count
            else str(operation.failure_count),
        ),
        ("last seen", "" if last is None else f"{last.summary} ({last.source})"),
        ("reclamation", "" if reclamation is None else _reclamation(reclamation, now)),
        ("do", "" if view.debt is None else view.debt.advice),
    ]
    return f"{render_title(f'attempt {attempt.execution_attempt_id}')}\n{render_facts(facts)}"


def _owes(view: AttemptView) -> str:
    if view.debt is None:
        return ""
    what = view.debt.work.obligation or "reclamation"
    return f"{what}: {view.debt.reason}"


def _reference(attempt: ExecutionAttemptRecord) -> str:
    from tenure.wire.json_text import dump_json  # noqa: PLC0415

    assert attempt.allocation_ref is not None
    text = dump_json(attempt.allocation_ref.provider_data)
    return text if len(text) <= REFERENCE_LENGTH else f"{text[:REFERENCE_LENGTH]}… (--json: all)"


def _reclamation(reclamation: ReclamationRecord, now: datetime) -> str:
    if reclamation.closure is None:
        return f"open since {_when(reclamation.opened_at, now)}"
    return f"{reclamation.closure}, {_when(reclamation.closed_at, now)}"


def _error(settlement: SettlementRecord | None) -> str:
    if settlement is None or not isinstance(settlement.result, FailedResult):
        return ""
    return settlement.result.error


def _when(at: datetime | None, now: datetime) -> str:
    return "" if at is None else f"{render_instant(at)} ({render_relative(at, now=now)})"
