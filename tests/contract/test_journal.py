"""The journal: one entry for each transition, none for renewals, few for refusals and doubts."""

import pytest
from msgspec.structs import replace
from tests.contract.stage import Stage
from tests.contract.values import EVIDENCE, OTHER_EVIDENCE, Loose, at, claim_for

import tenure
from tenure.ledger.refusal import NOTED_MAX

REF_JSON = {"version": 1, "providerId": "cloud", "providerData": {"vm": "i-1", "zone": [1, 2]}}
FINER_JSON = {"version": 1, "providerId": "cloud", "providerData": {"vm": "i-1", "ip": 4}}
OTHER_JSON = {"version": 1, "providerId": "cloud", "providerData": {"vm": "i-2"}}
LEASE = "2027-01-15T08:00:15.000Z"
LATER_LEASE = "2027-01-15T08:00:30.000Z"

EVENTS: list[tuple[str, str, list[tuple[str, str, Loose]]]] = [
    ("", "created", [("attempt-created", "host", {"ordinal": 1})]),
    (
        "created begun",
        "superseded",
        [
            (
                "attempt-created",
                "host",
                {"ordinal": 2, "supersedes": "a", "supersededStatus": "provisioning"},
            )
        ],
    ),
    ("created", "abandoned", [("attempt-abandoned", "host", {})]),
    (
        "created begun",
        "allocated",
        [("allocation-recorded", "owner-1", {"allocationRef": REF_JSON})],
    ),
    (
        "created begun",
        "discovered",
        [("allocation-discovered", "owner-1", {"allocationRef": REF_JSON})],
    ),
    (
        "created begun allocated",
        "evolved",
        [("allocation-evolved", "owner-1", {"allocationRef": FINER_JSON})],
    ),
    ("created begun allocated", "terminated", [("allocation-terminated", "owner-1", {})]),
    (
        "created begun allocated terminated",
        "failed",
        [("infrastructure-failure-recorded", "owner-1", {})],
    ),
    (
        "created begun",
        "doubted",
        [("uncertainty-recorded", "owner-1", {"obligation": "provisioning-resolution"})],
    ),
    ("created begun", "absent", [("absence-recorded", "owner-1", {})]),
    ("created begun-process-bound", "lost", [("provisioner-incarnation-lost", "owner-1", {})]),
    ("created begun", "handed-off", [("claim-handed-off", "owner-1", {})]),
    (
        "created begun",
        "taken-over",
        [
            (
                "claim-taken-over",
                "owner-2",
                {
                    "previousOwnerId": "owner-1",
                    "previousLeaseExpiresAt": LEASE,
                    "observedAt": LEASE,
                    "leaseExpiresAt": LATER_LEASE,
                    "obligation": "provisioning-resolution",
                },
            )
        ],
    ),
    ("created begun", "renewed", []),
    ("created", "answered", [("outcome-committed", "worker", {"resultStatus": "completed"})]),
    (
        "created begun",
        "answered",
        [
            ("outcome-committed", "worker", {"resultStatus": "completed"}),
            ("reclamation-opened", "worker", {"ownerId": "owner-1", "leaseExpiresAt": LEASE}),
        ],
    ),
    (
        "created begun answered",
        "closed",
        [("reclamation-closed", "owner-1", {"closure": "released"})],
    ),
    (
        "created begun answered",
        "reclamation-handed-off",
        [("reclamation-handed-off", "owner-1", {})],
    ),
    (
        "submitted created",
        "answered",
        [
            ("outcome-committed", "worker", {"resultStatus": "completed"}),
            ("execution-concluded", "worker", {"conclusion": "outcome"}),
        ],
    ),
    (
        "submitted-once created",
        "abandoned",
        [
            ("attempt-abandoned", "host", {}),
            ("execution-concluded", "host", {"conclusion": "exhausted"}),
        ],
    ),
    (
        "submitted",
        "cancelled",
        [
            (
                "cancellation-requested",
                "user-1",
                {
                    "requestedAt": "2027-01-15T08:00:00.000Z",
                    "requestedBy": "user-1",
                    "reason": "enough",
                },
            ),
            ("execution-concluded", "user-1", {"conclusion": "cancelled"}),
        ],
    ),
    ("submitted created answered", "converged", [("execution-converged", "host", {})]),
]


async def journal(stage: Stage, **filters: Loose) -> Loose:
    """Read the whole journal."""
    return await stage.call("read_journal", limit=1000, **filters)


@pytest.mark.parametrize(("steps", "step", "expected"), EVENTS, ids=lambda value: str(value)[:60])
async def test_transition_is_journaled(
    stage: Stage, steps: str, step: str, expected: list[tuple[str, str, Loose]]
) -> None:
    await stage.play(steps)
    before = await journal(stage)
    stage.clock.advance(8)
    await stage.play(step)
    added = (await journal(stage))[len(before) :]
    if step == "cancelled":
        expected[0][2]["requestedAt"] = "2027-01-15T08:00:00.008Z"
    assert [(entry.event, entry.actor, entry.detail) for entry in added] == expected
    for entry in added:
        assert (entry.at, entry.last_at, entry.count) == (at(8), at(8), 1)
        assert entry.execution_id == "e"


async def test_begin_is_journaled_with_its_binding_and_mark(stage: Stage) -> None:
    await stage.play("created begun")
    entry = (await journal(stage))[-1]
    assert (entry.event, entry.actor, entry.generation) == ("provisioning-begun", "owner-1", 1)
    assert entry.detail == {
        "providerId": "cloud",
        "allocationLifetime": "provider-managed",
        "provisionerIncarnationId": "incarnation-1",
        "leaseExpiresAt": LEASE,
        "mark": stage.ledger.mark_of("a"),
    }


async def test_submission_is_journaled_whole(stage: Stage) -> None:
    await stage.play("submitted")
    (entry,) = await journal(stage)
    assert (entry.event, entry.actor) == ("execution-submitted", "host-1")
    assert entry.execution_attempt_id is entry.generation is entry.evidence is None
    assert entry.detail["workflowId"] == "w"


async def test_references_of_a_reclamation_are_journaled(stage: Stage) -> None:
    await stage.play("created begun allocated answered")
    await stage.call("record_reclamation_reference")
    await stage.call("evolve_reclamation_reference")
    entries = (await journal(stage))[-2:]
    assert [(entry.event, entry.detail) for entry in entries] == [
        ("reclamation-reference-recorded", {"allocationRef": OTHER_JSON}),
        ("reclamation-reference-evolved", {"allocationRef": FINER_JSON}),
    ]


async def test_evidence_and_generation_stand_in_the_entry(stage: Stage) -> None:
    await stage.play("created begun")
    taken = await stage.call("take_over_provider_operation")
    await stage.call("record_provisioning_absent", claim=taken.claim, evidence=OTHER_EVIDENCE)
    entry = (await journal(stage))[-1]
    assert (entry.generation, entry.evidence) == (2, OTHER_EVIDENCE)


async def test_handle_journals_under_its_own_name(stage: Stage) -> None:
    operator = Stage(stage.ledger.acting_as("operator-1"), stage.clock)
    await operator.play("created abandoned")
    assert {entry.actor for entry in await journal(stage)} == {"operator-1"}


async def test_looks_are_not_journaled(stage: Stage) -> None:
    await stage.play("created begun")
    before = await journal(stage)
    await stage.call("schedule_look")
    assert await journal(stage) == before


async def test_journal_is_read_in_order_filtered_and_in_pages(stage: Stage) -> None:
    await stage.play("created begun created-elsewhere allocated superseded")
    everything = await journal(stage)
    sequences = [entry.sequence for entry in everything]
    assert sequences == sorted(set(sequences))
    of_b = await journal(stage, execution_attempt_id="b")
    assert [entry.event for entry in of_b] == ["attempt-created"]
    of_other = await journal(stage, execution_id="other")
    assert [entry.execution_attempt_id for entry in of_other] == ["elsewhere"]
    assert list(await journal(stage, execution_id="other", execution_attempt_id="b")) == []
    paged: list[Loose] = []
    page = await stage.call("read_journal", limit=2)
    while page:
        paged += page
        page = await stage.call("read_journal", limit=2, after=page[-1].sequence)
    assert paged == list(everything)


@pytest.mark.parametrize(
    ("steps", "operation"),
    [
        ("created begun", "record_provider_operation_uncertainty"),
        ("created begun answered", "record_reclamation_uncertainty"),
    ],
)
async def test_equal_doubts_are_folded_from_the_hundredth_on(
    stage: Stage, steps: str, operation: str
) -> None:
    await stage.play(steps)
    before = len(await journal(stage))
    for index in range(103):
        stage.clock.advance(1)
        observed_at = f"2027-01-15T08:00:00.{index:03}+02:00"
        await stage.call(operation, evidence=replace(EVIDENCE, observed_at=observed_at))
    doubts = (await journal(stage))[before:]
    assert [entry.count for entry in doubts] == [1] * 99 + [4]
    assert (doubts[-1].at, doubts[-1].last_at) == (at(100), at(103))
    assert doubts[-1].evidence.observed_at == "2027-01-15T08:00:00.099+02:00"
    await stage.call(operation, evidence=OTHER_EVIDENCE)
    await stage.call(operation)
    more = (await journal(stage))[before + 100 :]
    assert [entry.count for entry in more] == [1, 1]


async def test_doubts_of_another_generation_are_not_folded_together(stage: Stage) -> None:
    await stage.play("created begun")
    for _ in range(101):
        await stage.play("doubted")
    taken = await stage.call("take_over_provider_operation")
    await stage.call("record_provider_operation_uncertainty", claim=taken.claim)
    entries = (await journal(stage))[-3:]
    assert [(entry.event, entry.count) for entry in entries] == [
        ("uncertainty-recorded", 2),
        ("claim-taken-over", 1),
        ("uncertainty-recorded", 1),
    ]


async def test_doubt_that_repeats_a_termination_is_not_folded_into_other_doubts(
    stage: Stage,
) -> None:
    await stage.play("created begun allocated")
    for _ in range(101):
        await stage.play("doubted")
    await stage.play("terminated")
    await stage.call("record_provider_operation_uncertainty", evidence=OTHER_EVIDENCE)
    folded, _, last = (await journal(stage))[-3:]
    assert (folded.count, folded.evidence) == (2, EVIDENCE)
    assert (last.event, last.count, last.evidence) == ("uncertainty-recorded", 1, OTHER_EVIDENCE)


@pytest.mark.parametrize(
    ("steps", "operation", "kind"),
    [
        ("created begun taken-over", "record_allocation", "stale"),
        ("created begun absent", "record_allocation", "resolved"),
        ("created begun allocated answered", "record_infrastructure_failure", "resolved"),
        ("created superseded", "commit_outcome", "fenced"),
        ("created abandoned", "commit_outcome", "conflict"),
        ("created begun answered closed", "close_reclamation", "resolved"),
    ],
)
async def test_refused_writes_are_journaled_up_to_a_cap(
    stage: Stage, steps: str, operation: str, kind: str
) -> None:
    await stage.play(steps)
    before = len(await journal(stage))
    for _ in range(NOTED_MAX + 3):
        assert (await stage.call(operation)).kind == kind
    notes = (await journal(stage))[before:]
    assert len(notes) == NOTED_MAX
    assert {(entry.event, entry.detail["decision"]) for entry in notes} == {("write-refused", kind)}


async def test_cap_of_refusals_starts_afresh_with_each_generation(stage: Stage) -> None:
    await stage.play("created begun answered")
    for _ in range(2 * NOTED_MAX):
        await stage.call("close_reclamation", claim=claim_for())
    await stage.play("reclamation-taken-over")
    await stage.call("close_reclamation")
    note = (await journal(stage))[-1]
    assert (note.event, note.actor, note.generation) == ("write-refused", "owner-1", 1)
    assert note.detail == {
        "operation": "close-reclamation",
        "decision": "stale",
        "currentGeneration": 2,
    }


async def test_refused_claim_on_nothing_is_not_journaled(stage: Stage) -> None:
    assert (await stage.call("record_allocation")).kind == "not-found"
    assert await stage.call("commit_outcome") == tenure.Fenced()
    assert list(await journal(stage)) == []
