"""Executions: submission, attempts in succession, cancellation, conclusion, convergence."""

import pytest
from msgspec.structs import replace
from tests.contract.stage import Stage
from tests.contract.values import SUBMISSION, Loose, at

import tenure

FAILED_ATTEMPTS = {
    "abandoned": "abandoned",
    "absent": "begun absent",
    "lost": "begun-process-bound lost",
    "failed": "begun allocated terminated failed",
}
PAUSE = tenure.PausedResult(
    execution_id="e", workflow_id="w", paused_at_gate_id="g", paused_at_frame_id="f"
)


async def conclusion_of(stage: Stage) -> Loose:
    """Read how execution ``e`` was concluded, and when."""
    execution = await stage.call("get_execution")
    return execution.conclusion, execution.concluded_at


async def test_submission_is_frozen_and_told_in_every_answer(stage: Stage) -> None:
    answer = await stage.call("submit_execution")
    expected = tenure.ExecutionRecord(
        execution_id="e",
        active_attempt_id=None,
        attempt_count=0,
        submission=SUBMISSION,
        submitted_at=at(),
        submitted_by="host-1",
        cancellation=None,
        conclusion=None,
        concluded_at=None,
        converged_at=None,
        next_attempt_at=None,
    )
    assert answer == tenure.Submitted(execution=expected)
    stage.clock.advance(1)
    again = await stage.call("submit_execution", submitted_by="host-2")
    assert again == tenure.DuplicateSubmission(execution=expected)
    other = replace(SUBMISSION, attempts_max=3)
    conflict = await stage.call("submit_execution", submission=other)
    assert conflict == tenure.ConflictSubmission(execution=expected)
    assert await stage.call("get_execution") == expected


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"instruction": {"command": ["true"]}}, "duplicate"),
        ({"labels": {}}, "conflict"),
        ({"attempt_timeout_ms": None}, "conflict"),
        ({"retry_failed": True}, "conflict"),
        ({"retry_delay_ms": 2}, "conflict"),
        ({"retry_delay_ms_max": 2_000}, "conflict"),
        ({"provider_ids": ("cloud", "rival")}, "conflict"),
        ({"workflow_id": "w2"}, "conflict"),
    ],
)
async def test_submissions_are_compared_as_json_values(
    stage: Stage, changed: Loose, kind: str
) -> None:
    await stage.play("submitted")
    answer = await stage.call("submit_execution", submission=replace(SUBMISSION, **changed))
    assert answer.kind == kind


async def test_member_order_of_a_submission_does_not_matter(stage: Stage) -> None:
    one = replace(SUBMISSION, instruction={"a": 1, "b": 2})
    other = replace(SUBMISSION, instruction={"b": 2.0, "a": 1})
    assert (await stage.call("submit_execution", submission=one)).kind == "submitted"
    assert (await stage.call("submit_execution", submission=other)).kind == "duplicate"


async def test_attempts_without_a_submission_make_a_bare_execution(stage: Stage) -> None:
    await stage.play("created superseded")
    execution = await stage.call("get_execution")
    assert (execution.active_attempt_id, execution.attempt_count) == ("b", 2)
    assert execution.submission is execution.submitted_at is execution.submitted_by is None
    assert list(await stage.call("list_executions")) == []


async def test_ensured_attempt_is_created_once_and_never_moves_the_pointer_again(
    stage: Stage,
) -> None:
    await stage.play("submitted")
    created = await stage.call("ensure_attempt")
    assert created.attempt.status == "pending"
    again = await stage.call("ensure_attempt")
    assert again == tenure.AttemptExists(attempt=created.attempt, active=True)
    await stage.play("abandoned")
    second = await stage.call("ensure_attempt", execution_attempt_id="b", replaces="a")
    assert second.kind == "created"
    old = await stage.call("ensure_attempt", replaces="b", supersede=True)
    assert (old.kind, old.active, old.attempt.settlement_kind) == ("existing", False, "abandoned")
    assert (await stage.call("get_execution")).active_attempt_id == "b"


async def test_explicit_supersede_takes_claimability(stage: Stage) -> None:
    await stage.play("created begun allocated")
    answer = await stage.call(
        "ensure_attempt", execution_attempt_id="b", replaces="a", supersede=True
    )
    assert answer.kind == "created"
    record = await stage.call("recovery.get_attempt_with_allocation")
    assert (record.status, record.claimable) == ("allocated", False)


async def test_two_authorities_that_derive_one_id_make_one_attempt(stage: Stage) -> None:
    await stage.play("submitted")
    other = Stage(stage.ledger.acting_as("authority-2"), stage.clock)
    kinds = [(await one.call("ensure_attempt")).kind for one in (stage, other, stage)]
    assert kinds == ["created", "existing", "existing"]
    assert (await stage.call("get_execution")).attempt_count == 1


async def test_first_cancellation_stands(stage: Stage) -> None:
    await stage.play("submitted created")
    first = await stage.call("request_cancellation", requested_by="user-1", reason="enough")
    stage.clock.advance(5)
    second = await stage.call("request_cancellation", requested_by="user-2", reason=None)
    expected = tenure.CancellationRecord(requested_at=at(), requested_by="user-1", reason="enough")
    assert first.execution.cancellation == second.execution.cancellation == expected
    assert (await stage.call("get_execution")).cancellation == expected


async def test_reason_of_a_cancellation_is_optional_and_verbatim(stage: Stage) -> None:
    await stage.play("submitted created")
    answer = await stage.call("request_cancellation", reason=" \0 ")
    assert answer.execution.cancellation.reason == " \0 "


@pytest.mark.parametrize("steps", ["submitted", "submitted created abandoned"])
async def test_cancellation_concludes_at_once_when_nothing_is_under_way(
    stage: Stage, steps: str
) -> None:
    await stage.play(steps)
    stage.clock.advance(7)
    answer = await stage.call("request_cancellation")
    assert (answer.execution.conclusion, answer.execution.concluded_at) == ("cancelled", at(7))
    assert await conclusion_of(stage) == ("cancelled", at(7))


@pytest.mark.parametrize("end", FAILED_ATTEMPTS)
async def test_cancelled_execution_concludes_with_its_attempt(stage: Stage, end: str) -> None:
    await stage.play("submitted created cancelled")
    assert await conclusion_of(stage) == (None, None)
    await stage.play(FAILED_ATTEMPTS[end])
    assert await conclusion_of(stage) == ("cancelled", at())


@pytest.mark.parametrize("end", FAILED_ATTEMPTS)
async def test_execution_is_exhausted_by_its_last_attempt(stage: Stage, end: str) -> None:
    await stage.play("submitted-once created")
    await stage.play(FAILED_ATTEMPTS[end])
    assert await conclusion_of(stage) == ("exhausted", at())


@pytest.mark.parametrize("end", FAILED_ATTEMPTS)
async def test_execution_stays_open_while_an_attempt_is_left(stage: Stage, end: str) -> None:
    await stage.play("submitted created")
    await stage.play(FAILED_ATTEMPTS[end])
    assert await conclusion_of(stage) == (None, None)


async def test_answer_concludes_also_after_a_cancellation_was_requested(stage: Stage) -> None:
    await stage.play("submitted created cancelled answered")
    assert await conclusion_of(stage) == ("outcome", at())


async def test_conclusion_is_written_once(stage: Stage) -> None:
    await stage.play("submitted created answered")
    stage.clock.advance(5)
    await stage.play("superseded")
    answer = await stage.call("commit_outcome", execution_attempt_id="b")
    assert answer.kind == "accepted"
    assert await conclusion_of(stage) == ("outcome", at())


async def test_superseded_attempt_concludes_nothing(stage: Stage) -> None:
    await stage.play("submitted created begun superseded absent")
    assert await conclusion_of(stage) == (None, None)


async def test_pause_concludes_nothing_and_is_resumed_by_a_new_attempt(stage: Stage) -> None:
    await stage.play("submitted-once created begun")
    assert (await stage.call("commit_outcome", result=PAUSE)).kind == "accepted"
    assert await conclusion_of(stage) == (None, None)
    resumed = await stage.call("ensure_attempt", execution_attempt_id="b", replaces="a")
    assert resumed.kind == "created"


async def test_pause_under_a_cancellation_concludes_as_cancelled(stage: Stage) -> None:
    await stage.play("submitted created cancelled")
    await stage.call("commit_outcome", result=PAUSE)
    assert await conclusion_of(stage) == ("cancelled", at())


async def test_convergence_is_recorded_once(stage: Stage) -> None:
    await stage.play("submitted created answered")
    stage.clock.advance(3)
    await stage.play("converged")
    stage.clock.advance(3)
    assert await stage.call("record_convergence") == tenure.AlreadyConverged()
    assert (await stage.call("get_execution")).converged_at == at(3)


async def test_deadline_follows_from_the_begin(stage: Stage) -> None:
    await stage.play("submitted created")
    stage.clock.advance(10)
    await stage.play("begun")
    (work,) = await stage.call("list_open")
    assert work.deadline_at == at(60_010)


async def submit(stage: Stage, execution_id: str) -> None:
    """Submit one of several executions."""
    await stage.call("submit_execution", execution_id=execution_id)


async def test_executions_are_listed_newest_first_then_by_id(stage: Stage) -> None:
    for execution_id in ("m", "B", "é", "a"):
        await submit(stage, execution_id)
    stage.clock.advance(1)
    await submit(stage, "newest")
    listed: list[str] = []
    page = await stage.call("list_executions", limit=2)
    while page:
        listed += [record.execution_id for record in page]
        page = await stage.call("list_executions", limit=2, after=page[-1])
    assert listed == ["newest", "B", "a", "m", "é"]


async def test_executions_are_filtered_before_the_limit(stage: Stage) -> None:
    for execution_id in ("x", "y", "z"):
        await submit(stage, execution_id)
    await stage.call("request_cancellation", execution_id="y")
    for concluded, expected in ((True, ["y"]), (False, ["x", "z"]), (None, ["x", "y", "z"])):
        page = await stage.call("list_executions", concluded=concluded, limit=len(expected))
        assert [record.execution_id for record in page] == expected
