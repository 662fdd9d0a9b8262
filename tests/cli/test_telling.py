"""How entries of the journal, attempts and references are told to people."""

from datetime import UTC, datetime, timedelta

import pytest
from tests.contract.values import Loose

from tenure import ExecutionRecord, ExecutionSubmission, JournalEntry
from tenure.cli.ls import _about
from tenure.cli.timeline import render_timeline
from tenure.cli.view import Sighting, describe_attempts

AT = datetime(2026, 11, 30, 14, 0, tzinfo=UTC)


def entry(event: str, **detail: Loose) -> JournalEntry:
    """Make an entry of the journal."""
    return JournalEntry(
        sequence=1,
        at=AT,
        execution_id="e",
        execution_attempt_id="a",
        event=event,
        actor="cli",
        generation=1,
        evidence=None,
        detail=detail,
        count=1,
        last_at=AT,
    )


def execution(*, attempts_max: int = 3, **changed: Loose) -> ExecutionRecord:
    """Make an execution that has not ended."""
    submission = ExecutionSubmission(
        workflow_id="w", instruction={}, provider_ids=("detached",), attempts_max=attempts_max
    )
    members: Loose = {
        "execution_id": "e",
        "active_attempt_id": "a",
        "attempt_count": 2,
        "submission": submission,
        "submitted_at": AT,
        "submitted_by": "cli",
        "cancellation": None,
        "conclusion": None,
        "concluded_at": None,
        "converged_at": None,
        "next_attempt_at": None,
    }
    return ExecutionRecord(**{**members, **changed})


def test_write_that_came_late_does_not_look_like_a_fault() -> None:
    told = render_timeline([entry("write-refused", operation="renew-claim", decision="resolved")])
    assert "came-late" in told
    assert "renew claim: that was settled already, and nothing was lost" in told
    assert "refused" not in told


def test_write_under_a_lost_claim_is_told_as_refused() -> None:
    told = render_timeline([entry("write-refused", operation="renew-claim", decision="stale")])
    assert "write-refused" in told
    assert "renew claim: somebody else holds the claim by now" in told


def test_instant_of_another_day_has_its_date_in_the_journal() -> None:
    told = render_timeline(
        [
            entry("claim-renewed", leaseExpiresAt="2030-01-01T00:00:00.000Z"),
            entry("claim-renewed", leaseExpiresAt="2026-11-30T14:01:00.000Z"),
        ]
    )
    assert "leaseExpiresAt=2030-01-01T00:00:00.000Z" in told
    assert "leaseExpiresAt=14:01:00.000Z" in told


@pytest.mark.parametrize(
    ("made", "most", "told"), [(0, 1, ""), (1, 1, ""), (0, 3, "0 of 3"), (2, 3, "2 of 3")]
)
def test_attempts_are_told_where_there_may_be_several(made: int, most: int, told: str) -> None:
    assert describe_attempts(execution(attempt_count=made, attempts_max=most)) == told


def test_list_tells_the_attempt_that_runs_and_the_one_that_comes_next() -> None:
    def about(**changed: Loose) -> str:
        sighting = Sighting(execution=execution(**changed), attempt=None, settlement=None)
        return _about(sighting, AT)

    assert about() == "attempt 2 of 3"
    assert about(next_attempt_at=AT + timedelta(seconds=5)) == "attempts: 2 of 3, next in 5.0 s"
