"""What is given is kept exactly, is the ledger's afterwards, and comes back as fresh values."""

from copy import deepcopy

import pytest
from msgspec.structs import replace
from tests.contract.stage import Stage
from tests.contract.values import EVIDENCE, OTHER_REF, REF, RESULT, Loose

import tenure
from tenure.model.json_value import same_json

ODD_EVIDENCE = [
    tenure.BoundedRecoveryEvidence(
        source=" probe\0 ", summary="\n\t blanks stay \0", observed_at="2027-01-15T08:00+02:00"
    ),
    tenure.BoundedRecoveryEvidence(
        source="😀" * 64, summary="é\u0301", observed_at="2027-01-15T08:00:00.123456789-00:00"
    ),
    tenure.BoundedRecoveryEvidence(
        source="p", summary="x" * 512, observed_at="2027-01-15T23:59:59Z", code=" \0 "
    ),
]
ODD_DATA: dict[str, Loose] = {
    "": "",
    "\0": "\0",
    "nested": [{"a": [[], {}, None, True, False]}],
    "numbers": [0, -1, 2**53 + 1, 10**30, 1.5, -0.5, 1e300],
    "text": ' é e\u0301 😀 \u2028 " \\ ',
}
RECORDINGS = ("record_allocation", "recovery.record_discovered_allocation")
KEEPING = [
    ("created begun", "record_provider_operation_uncertainty", "get_provider_operation"),
    ("created begun", "handoff_provider_operation", "get_provider_operation"),
    ("created begun", "record_provisioning_absent", "get_provider_operation"),
    ("created begun allocated", "record_allocation_terminated", "get_provider_operation"),
    ("created begun answered", "record_reclamation_uncertainty", "get_reclamation"),
    ("created begun answered", "handoff_reclamation", "get_reclamation"),
    ("created begun answered", "close_reclamation", "get_reclamation"),
]


@pytest.mark.parametrize("evidence", ODD_EVIDENCE, ids=["blanks", "instant", "long"])
@pytest.mark.parametrize(("steps", "operation", "read"), KEEPING)
async def test_evidence_is_kept_verbatim(
    stage: Stage, steps: str, operation: str, read: str, evidence: tenure.BoundedRecoveryEvidence
) -> None:
    await stage.play(steps)
    assert await stage.call(operation, evidence=evidence) == tenure.Recorded()
    assert (await stage.call(read)).last_failure == evidence
    assert (await stage.call("read_journal"))[-1].evidence == evidence


async def test_evidence_of_a_proof_is_kept_verbatim(stage: Stage) -> None:
    await stage.play("created begun-process-bound")
    proof = tenure.ProcessBoundProvisionerLossProof(
        provisioner_incarnation_id="incarnation-1", evidence=ODD_EVIDENCE[0]
    )
    assert await stage.call("record_provisioner_incarnation_lost", proof=proof) == tenure.Recorded()
    assert (await stage.call("get_provider_operation")).last_failure == ODD_EVIDENCE[0]


@pytest.mark.parametrize(
    "operation", ["record_allocation", "recovery.record_discovered_allocation"]
)
async def test_reference_comes_back_as_it_was_given(stage: Stage, operation: str) -> None:
    await stage.play("created begun")
    odd = replace(REF, provider_data=ODD_DATA)
    await stage.call(operation, allocation_ref=odd)
    record = await stage.call("recovery.get_attempt_with_allocation")
    assert same_json(record.allocation_ref.provider_data, ODD_DATA)
    assert list(record.allocation_ref.provider_data) == list(ODD_DATA)


async def test_empty_provider_data_is_a_reference(stage: Stage) -> None:
    await stage.play("created begun")
    empty = replace(REF, provider_data={})
    assert await stage.call("record_allocation", allocation_ref=empty) == tenure.Recorded()
    assert (await stage.call("list_open"))[0].references == (empty,)


@pytest.mark.parametrize(
    "result",
    [
        replace(RESULT, artifact=None),
        replace(RESULT, artifact=ODD_DATA),
        tenure.FailedResult(execution_id="e", workflow_id="w\0", error=" \0 "),
        tenure.CancelledResult(execution_id="e", workflow_id="w"),
        tenure.CancelledResult(execution_id="other", workflow_id="w", reason="\0"),
        tenure.PausedResult(
            execution_id="e", workflow_id="w", paused_at_gate_id=" ", paused_at_frame_id="\0"
        ),
    ],
)
async def test_result_comes_back_as_it_was_given(stage: Stage, result: Loose) -> None:
    await stage.play("created")
    answer = await stage.call("commit_outcome", result=result)
    assert answer == tenure.AcceptedOutcome(outcome=result)
    assert (await stage.call("get_settlement")).result == result
    assert await stage.call("commit_outcome", result=result) == tenure.DuplicateOutcome(
        outcome=result
    )


async def test_caller_that_changes_its_dict_changes_nothing(stage: Stage) -> None:
    data: dict[str, Loose] = {"vm": ["i-1"]}
    artifact: dict[str, Loose] = {"n": [1]}
    instruction: dict[str, Loose] = {"command": ["true"]}
    submission = tenure.ExecutionSubmission(
        workflow_id="w", instruction=instruction, provider_ids=("cloud",)
    )
    result = replace(RESULT, artifact=artifact)
    await stage.call("submit_execution", submission=submission)
    await stage.play("created begun")
    await stage.call("record_allocation", allocation_ref=replace(REF, provider_data=data))
    await stage.call("commit_outcome", result=result)
    expected = deepcopy((data, artifact, instruction))
    data["vm"].append("i-2")
    artifact["n"].append(2)
    instruction["command"].append("false")
    record = await stage.call("recovery.get_attempt_with_allocation")
    settlement = await stage.call("get_settlement")
    execution = await stage.call("get_execution")
    assert (
        record.allocation_ref.provider_data,
        settlement.result.artifact,
        execution.submission.instruction,
    ) == expected


async def test_answer_belongs_to_its_caller(stage: Stage) -> None:
    await stage.play("submitted created begun allocated")
    answers = [
        (await stage.call("record_allocation")).allocation_ref.provider_data,
        (await stage.call("begin_provisioning")).allocation_ref.provider_data,
        (await stage.call("recovery.get_attempt_with_allocation")).allocation_ref.provider_data,
        (await stage.call("recovery.get_recoverable_attempts"))[0].allocation_ref.provider_data,
        (await stage.call("list_open"))[0].references[0].provider_data,
        (await stage.call("get_execution")).submission.labels,
        (await stage.call("read_journal"))[-1].detail,
    ]
    before = await stage.rows()
    for answer in answers:
        answer["vm"] = "spoiled"
        answer["zone"] = None
    assert await stage.rows() == before


async def test_outcome_of_a_decision_belongs_to_its_caller(stage: Stage) -> None:
    await stage.play("created")
    accepted = await stage.call("commit_outcome")
    accepted.outcome.artifact["n"] = "spoiled"
    duplicate = await stage.call("commit_outcome")
    assert duplicate == tenure.DuplicateOutcome(outcome=RESULT)
    duplicate.outcome.artifact["n"] = "spoiled"
    assert (await stage.call("get_settlement")).result == RESULT


@pytest.mark.parametrize(
    ("data", "kind"),
    [
        ({"zone": [1, 2], "vm": "i-1"}, "duplicate"),
        ({"vm": "i-1", "zone": [1.0, 2]}, "duplicate"),
        ({"vm": "i-1", "zone": [2, 1]}, "conflict"),
        ({"vm": "i-1", "zone": [True, 2]}, "conflict"),
        ({"vm": "i-1", "zone": ["1", 2]}, "conflict"),
        ({"vm": "i-1", "zone": [1, 2], "more": None}, "conflict"),
        ({"vm": "i-1"}, "conflict"),
    ],
)
async def test_references_are_compared_as_json_values(stage: Stage, data: Loose, kind: str) -> None:
    await stage.play("created begun allocated")
    given = replace(REF, provider_data=data)
    answer = await stage.call("record_allocation", allocation_ref=given)
    assert (answer.kind, answer.allocation_ref) == (kind, REF)
    evolved = await stage.call("recovery.evolve_allocation_ref", current_ref=given)
    assert evolved.kind == ("evolved" if kind == "duplicate" else "stale")


async def test_duplicate_tells_the_stored_reference_and_not_the_given_one(stage: Stage) -> None:
    await stage.play("created begun")
    stored = replace(REF, provider_data={"a": 1, "b": 2})
    await stage.call("record_allocation", allocation_ref=stored)
    given = replace(REF, provider_data={"b": 2.0, "a": 1.0})
    answer = await stage.call("record_allocation", allocation_ref=given)
    assert [*answer.allocation_ref.provider_data.items()] == [("a", 1), ("b", 2)]
    assert type(answer.allocation_ref.provider_data["a"]) is int


async def test_duplicate_tells_the_committed_outcome_and_not_the_given_one(stage: Stage) -> None:
    await stage.play("created answered")
    given = replace(RESULT, artifact={"list": [1.0, 2.5, None], "n": 1.0})
    answer = await stage.call("commit_outcome", result=given)
    assert list(answer.outcome.artifact) == ["n", "list"]


async def test_huge_integers_are_compared_exactly(stage: Stage) -> None:
    await stage.play("created begun")
    big = replace(REF, provider_data={"n": 2**60 + 1})
    await stage.call("record_allocation", allocation_ref=big)
    near = replace(REF, provider_data={"n": 2**60})
    assert (await stage.call("record_allocation", allocation_ref=near)).kind == "conflict"


async def test_evidence_without_code_stays_without(stage: Stage) -> None:
    await stage.play("created begun doubted")
    assert (await stage.call("get_provider_operation")).last_failure == EVIDENCE
    assert EVIDENCE.code is None


async def test_conflict_keeps_the_stored_reference(stage: Stage) -> None:
    await stage.play("created begun allocated")
    await stage.call("record_allocation", allocation_ref=OTHER_REF)
    record = await stage.call("recovery.get_attempt_with_allocation")
    assert record.allocation_ref == REF
