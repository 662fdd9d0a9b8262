"""How executions are told: one word, one line, one JSON document."""

import shlex
from typing import Literal, TypeAlias

import msgspec

from tenure.authority.authority import ExecutionEnd
from tenure.cli.exit_code import CANCELLED, NOT_ENDED, OK, TENURE, UNKNOWN_FAILURE
from tenure.cli.writing import formed
from tenure.ledger.ledger import Ledger
from tenure.model.attempt import ExecutionAttemptRecord
from tenure.model.evidence import BoundedRecoveryEvidence
from tenure.model.execution import ExecutionRecord, SettlementRecord
from tenure.model.json_value import JsonValue
from tenure.model.result import CancelledResult, CompletedResult, FailedResult, PausedResult
from tenure.worker.failure import parse_failure

State: TypeAlias = Literal[
    "pending",
    "starting",
    "running",
    "cancelling",
    "completed",
    "failed",
    "cancelled",
    "paused",
    "no-outcome",
]
"""What an execution is doing, or how it ended."""


class Sighting(msgspec.Struct, frozen=True, kw_only=True):
    """One execution as it was read, with its active attempt."""

    execution: ExecutionRecord
    attempt: ExecutionAttemptRecord | None
    settlement: SettlementRecord | None

    @property
    def end(self) -> ExecutionEnd | None:
        """How it ended, or None while it has not."""
        is_paused = self.settlement is not None and isinstance(self.settlement.result, PausedResult)
        if self.execution.conclusion is None and not is_paused:
            return None
        return ExecutionEnd(execution=self.execution, settlement=self.settlement)

    @property
    def state(self) -> State:
        """Say in one word what it does."""
        end = self.end
        if end is not None:
            return state_of_end(end)
        if self.execution.cancellation is not None:
            return "cancelling"
        match self.attempt and self.attempt.status:
            case "provisioning":
                return "starting"
            case "allocated":
                return "running"
            case _:
                return "pending"


async def sight(ledger: Ledger, execution: ExecutionRecord) -> Sighting:
    """Read an execution's active attempt and its settlement."""
    attempt, settlement = None, None
    if execution.active_attempt_id is not None:
        attempt = await ledger.recovery.get_attempt_with_allocation(
            execution_attempt_id=execution.active_attempt_id
        )
    if attempt is not None and attempt.status == "settled":
        settlement = await ledger.get_settlement(execution_attempt_id=attempt.execution_attempt_id)
    return Sighting(execution=execution, attempt=attempt, settlement=settlement)


def state_of_end(end: ExecutionEnd) -> State:
    """Say in one word how an execution ended."""
    result = None if end.settlement is None else end.settlement.result
    if result is not None:
        return result.status
    return "cancelled" if end.execution.conclusion == "cancelled" else "no-outcome"


def exit_code_of(end: ExecutionEnd) -> int:
    """Tell how a command ended: its own code, or one that stands for what happened to it."""
    match end.settlement and end.settlement.result:
        case CompletedResult():
            return OK
        case FailedResult() as failed:
            code = parse_failure(failed.error)
            return UNKNOWN_FAILURE if code is None else code
        case CancelledResult():
            return CANCELLED
        case PausedResult():
            return NOT_ENDED
        case _:
            return CANCELLED if end.execution.conclusion == "cancelled" else TENURE


async def find_last_evidence(ledger: Ledger, end: ExecutionEnd) -> BoundedRecoveryEvidence | None:
    """Find what was seen last of an attempt that ended without an outcome."""
    if end.settlement is None or end.settlement.result is not None:
        return None
    operation = await ledger.get_provider_operation(
        execution_attempt_id=end.settlement.execution_attempt_id
    )
    return None if operation is None else operation.last_failure


def describe_end(end: ExecutionEnd, evidence: BoundedRecoveryEvidence | None) -> str:
    """Tell an end in one line."""
    match end.settlement and end.settlement.result:
        case CompletedResult() as completed:
            seconds = (completed.artifact or {}).get("durationSeconds")
            took = f" after {seconds:.2f} s" if isinstance(seconds, int | float) else ""
            return f"completed{took}"
        case FailedResult() as failed:
            return f"failed: {failed.error.split(chr(10), 1)[0]}"
        case CancelledResult() as cancelled:
            return f"cancelled{_reason(cancelled.reason)}"
        case PausedResult() as paused:
            return f"paused at gate {paused.paused_at_gate_id}"
        case _:
            return _describe_without_outcome(end, evidence)


def describe_command(execution: ExecutionRecord) -> str:
    """Show what an execution runs, as it would be typed."""
    submission = execution.submission
    command = None if submission is None else submission.instruction.get("command")
    if not isinstance(command, list):
        return "" if submission is None else submission.workflow_id
    return shlex.join(map(str, command))


def describe_attempts(execution: ExecutionRecord) -> str:
    """Tell how many attempts were made, of how many; nothing where one is all there may be."""
    submission = execution.submission
    most = 1 if submission is None else submission.attempts_max
    if max(most, execution.attempt_count) <= 1:
        return ""
    return f"{execution.attempt_count} of {most}" if most > 1 else str(execution.attempt_count)


def document_of(
    ledger: Ledger, sighting: Sighting, evidence: BoundedRecoveryEvidence | None = None
) -> dict[str, JsonValue]:
    """Make the JSON document of one execution."""
    end = sighting.end
    return formed(
        {
            "ledgerUrl": ledger.url,
            "state": sighting.state,
            "exitCode": None if end is None else exit_code_of(end),
            "execution": sighting.execution,
            "settlement": sighting.settlement,
            "evidence": evidence,
        }
    )


def _describe_without_outcome(end: ExecutionEnd, evidence: BoundedRecoveryEvidence | None) -> str:
    seen = "" if evidence is None else f": {evidence.summary}"
    if end.execution.conclusion == "cancelled":
        cancellation = end.execution.cancellation
        asked = None if cancellation is None else cancellation.reason
        return f"cancelled{_reason(asked)}, without an outcome{seen}"
    kind = "it was never begun" if end.settlement is None else end.settlement.settlement_kind
    return f"ended without an outcome ({kind}){seen}"


def _reason(reason: str | None) -> str:
    return "" if reason is None else f": {reason}"
