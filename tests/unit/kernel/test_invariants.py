"""Each invariant is numbered, says one thing, and notices a state or edge that breaks it."""

import re
from typing import Any

import pytest
from msgspec.structs import replace

from tenure.kernel.creation import bare_execution
from tenure.kernel.invariants import (
    EDGE_INVARIANTS,
    INVARIANTS,
    VERDICT_INVARIANTS,
    edge_violations,
    verdict_violations,
    violations,
)
from tenure.kernel.machine import AnyCommand
from tenure.kernel.state import Attempt, Entry, Execution, Operation, Reclamation, State, Verdict
from tenure.model import command as commands, decision as decisions
from tenure.model.command import PresentedClaim
from tenure.model.instant import InstantMs
from tenure.model.json_value import JsonText
from tenure.model.operation import ProviderOperationClaim

NOW = InstantMs(1000)
REF = JsonText('{"version":1,"providerId":"cloud","providerData":{}}')
FOREIGN = JsonText('{"version":1,"providerId":"rival","providerData":{}}')
EVIDENCE = JsonText('{"source":"s","summary":"s","observedAt":"2027-01-01T00:00Z"}')
SUBMITTED = {"submission": "{}", "attempts_max": 1, "submitted_ms": NOW, "submitted_by": "h"}
UNOWNED = {"owner_id": None, "token": None, "lease_expires_ms": None}

OPERATION = Operation(
    generation=1,
    obligation="provisioning-resolution",
    owner_id="o",
    token="t",
    lease_expires_ms=NOW,
    failure_count=0,
    last_failure=None,
    doubt_streak=0,
    opened_ms=NOW,
    next_look_ms=NOW,
)
RECLAMATION = Reclamation(
    generation=1,
    owner_id="o",
    token="t",
    lease_expires_ms=NOW,
    references=(REF,),
    failure_count=0,
    last_failure=None,
    doubt_streak=0,
    opened_ms=NOW,
    next_look_ms=NOW,
    closure=None,
    closed_ms=None,
)
PENDING = Attempt(
    execution_attempt_id="a",
    execution_id="e",
    ordinal=1,
    created_ms=NOW,
    status="pending",
    allocation_ref=None,
    provider_id=None,
    allocation_lifetime=None,
    provisioner_incarnation_id=None,
    mark=None,
    deadline_ms=None,
    settlement_kind=None,
    settled_ms=None,
    claimable=False,
    claim_expires_ms=None,
    result=None,
    operation=None,
    reclamation=None,
)
BEGUN = replace(
    PENDING,
    status="provisioning",
    provider_id="cloud",
    allocation_lifetime="provider-managed",
    provisioner_incarnation_id="i",
    mark="m",
    operation=OPERATION,
)
ALLOCATED = replace(
    BEGUN,
    status="allocated",
    allocation_ref=REF,
    claimable=True,
    operation=replace(OPERATION, obligation="allocation-control"),
)
ANSWERED = replace(
    ALLOCATED,
    status="settled",
    settlement_kind="outcome",
    settled_ms=NOW,
    claimable=False,
    result=JsonText("{}"),
    operation=replace(OPERATION, obligation="allocation-control", **UNOWNED),
    reclamation=RECLAMATION,
)
EXECUTION = replace(bare_execution("e"), active_attempt_id="a", attempt_count=1)
CLAIM = PresentedClaim(execution_attempt_id="a", generation=1, owner_id="o", token="t")
RENEW = commands.RenewClaim(claim=CLAIM, lease_expires_ms=NOW)
CLOSE = commands.CloseReclamation(claim=CLAIM, closure="absent", evidence=EVIDENCE)


def state(attempt: Attempt | None, execution: Execution | None = EXECUTION) -> State:
    """Make the state in which this attempt is the active one."""
    active = attempt if execution is not None and execution.active_attempt_id == "a" else None
    return State(attempt=attempt, execution=execution, active=active)


def operated(row: Attempt, **columns: Any) -> Attempt:  # noqa: ANN401 - columns of any type
    """Change the operation of an attempt."""
    assert row.operation is not None
    return replace(row, operation=replace(row.operation, **columns))


def reclaimed(row: Attempt, **columns: Any) -> Attempt:  # noqa: ANN401 - columns of any type
    """Change the reclamation of an attempt."""
    assert row.reclamation is not None
    return replace(row, reclamation=replace(row.reclamation, **columns))


SOUND = [PENDING, BEGUN, ALLOCATED, ANSWERED]
BROKEN_STATES = {
    "I-01": state(replace(BEGUN, mark=None)),
    "I-02": state(replace(BEGUN, operation=None)),
    "I-03": state(replace(PENDING, status="provisioning")),
    "I-04": state(replace(BEGUN, status="allocated")),
    "I-05": state(operated(ALLOCATED, obligation="provisioning-resolution")),
    "I-06": state(replace(ANSWERED, settled_ms=None)),
    "I-07": state(replace(ANSWERED, result=None)),
    "I-08": state(replace(ANSWERED, settlement_kind="infrastructure-failure")),
    "I-09": state(replace(ANSWERED, settlement_kind="abandoned")),
    "I-10": state(operated(BEGUN, token=None)),
    "I-11": state(replace(ANSWERED, operation=ALLOCATED.operation)),
    "I-12": state(replace(BEGUN, claimable=True)),
    "I-13": state(operated(BEGUN, failure_count=1)),
    "I-14": state(replace(ANSWERED, reclamation=None)),
    "I-15": state(reclaimed(ANSWERED, owner_id=None)),
    "I-16": state(reclaimed(ANSWERED, closure="absent", closed_ms=NOW)),
    "I-17": state(reclaimed(ANSWERED, references=())),
    "I-18": state(reclaimed(ANSWERED, doubt_streak=-1)),
    "I-19": state(replace(ALLOCATED, allocation_ref=FOREIGN)),
    "I-20": state(replace(ANSWERED, settled_ms=InstantMs(999))),
    "I-21": state(replace(PENDING, deadline_ms=NOW)),
    "I-22": state(replace(PENDING, ordinal=2)),
    "I-23": state(PENDING, replace(EXECUTION, active_attempt_id=None)),
    "I-24": state(None, replace(bare_execution("e"), submission=JsonText("{}"))),
    "I-25": state(None, replace(bare_execution("e"), **SUBMITTED, conclusion="outcome")),
    "I-26": state(None, replace(bare_execution("e"), conclusion="outcome", concluded_ms=NOW)),
    "I-27": state(reclaimed(ANSWERED, references=(REF, REF))),
    "I-28": state(PENDING, replace(EXECUTION, **SUBMITTED, next_attempt_ms=NOW)),
}
CLOSED = reclaimed(ANSWERED, closure="absent", closed_ms=NOW, last_failure=EVIDENCE, **UNOWNED)
PROMISED = replace(EXECUTION, **SUBMITTED)
CREATE_B = commands.CreateAttempt(execution_attempt_id="b", execution_id="e", actor="x")
BROKEN_EDGES: dict[str, tuple[State, State, AnyCommand | None]] = {
    "E-01": (state(PENDING), state(replace(PENDING, created_ms=InstantMs(2))), None),
    "E-02": (state(BEGUN), state(replace(BEGUN, provider_id="rival")), None),
    "E-03": (state(ALLOCATED), state(replace(ALLOCATED, status="provisioning")), None),
    "E-04": (state(ALLOCATED), state(operated(ALLOCATED, obligation=OPERATION.obligation)), None),
    "E-05": (state(BEGUN), state(operated(BEGUN, token="other")), None),
    "E-06": (state(operated(BEGUN, failure_count=2)), state(BEGUN), None),
    "E-07": (state(ANSWERED), state(replace(ANSWERED, result=JsonText("[]"))), None),
    "E-08": (state(PENDING), state(replace(PENDING, claim_expires_ms=NOW)), None),
    "E-09": (state(ALLOCATED), state(replace(ALLOCATED, allocation_ref=None)), None),
    "E-10": (state(ANSWERED), state(operated(ANSWERED, next_look_ms=InstantMs(2))), None),
    "E-11": (state(CLOSED), state(ANSWERED), None),
    "E-12": (state(PENDING), state(PENDING, PROMISED), None),
    "E-13": (
        state(PENDING, replace(PROMISED, conclusion="outcome", concluded_ms=NOW)),
        state(PENDING, PROMISED),
        None,
    ),
    "E-14": (state(PENDING), state(PENDING, replace(EXECUTION, attempt_count=2)), None),
    "E-15": (state(BEGUN), state(operated(BEGUN, generation=3, token="u")), RENEW),
    "E-16": (state(BEGUN), state(ALLOCATED), RENEW),
    "E-17": (
        state(BEGUN),
        state(operated(BEGUN, failure_count=1, last_failure=EVIDENCE)),
        RENEW,
    ),
    "E-18": (state(BEGUN), state(ALLOCATED), RENEW),
    "E-19": (state(ALLOCATED), state(replace(ALLOCATED, allocation_ref=FOREIGN)), RENEW),
    "E-20": (state(ALLOCATED), state(ANSWERED), RENEW),
    "E-21": (state(ANSWERED), state(replace(ANSWERED, claim_expires_ms=NOW)), CLOSE),
    "E-22": (
        state(PENDING),
        state(PENDING, replace(EXECUTION, active_attempt_id="b", attempt_count=2)),
        RENEW,
    ),
    "E-23": (state(ALLOCATED), state(replace(ALLOCATED, allocation_ref=None)), CREATE_B),
    "E-24": (state(ANSWERED), state(reclaimed(ANSWERED, references=(FOREIGN,))), CLOSE),
}
ENTRY = Entry(event="x", execution_id="e", execution_attempt_id="a", actor="x")
DOUBT = commands.RecordUncertainty(claim=CLAIM, evidence=EVIDENCE)
GRANTED = decisions.Recorded()
BROKEN_VERDICTS: dict[str, tuple[AnyCommand, Verdict[Any]]] = {
    "V-01": (DOUBT, Verdict(decision=decisions.Stale(), attempt=BEGUN)),
    "V-02": (DOUBT, Verdict(decision=GRANTED, attempt=BEGUN)),
    "V-03": (
        DOUBT,
        Verdict(
            decision=GRANTED, attempt=replace(BEGUN, execution_attempt_id="b"), entries=(ENTRY,)
        ),
    ),
    "V-04": (
        RENEW,
        Verdict(
            decision=decisions.Claimed(
                claim=ProviderOperationClaim(
                    execution_attempt_id="a",
                    generation=1,
                    owner_id="o",
                    token="another",
                    lease_expires_at="",
                )
            ),
            attempt=BEGUN,
        ),
    ),
}


@pytest.mark.parametrize("row", SOUND, ids=lambda row: row.status)
def test_sound_states_and_standing_still_break_nothing(row: Attempt) -> None:
    assert violations(state(row)) == ()
    assert edge_violations(state(row), state(row)) == ()
    assert edge_violations(state(row), state(row), RENEW) == ()


def test_way_of_a_life_breaks_nothing_that_lasts() -> None:
    for index, before in enumerate(SOUND):
        for after in SOUND[index:]:
            assert edge_violations(state(before), state(after)) == ()


@pytest.mark.parametrize("invariant", INVARIANTS, ids=lambda item: item.id)
def test_broken_state_is_noticed(invariant: Any) -> None:  # noqa: ANN401 - one of three kinds
    found = violations(BROKEN_STATES[invariant.id])
    assert invariant.id in {item.id for item in found}


@pytest.mark.parametrize("invariant", EDGE_INVARIANTS, ids=lambda item: item.id)
def test_broken_edge_is_noticed(invariant: Any) -> None:  # noqa: ANN401 - one of three kinds
    found = edge_violations(*BROKEN_EDGES[invariant.id])
    assert invariant.id in {item.id for item in found}


@pytest.mark.parametrize("invariant", VERDICT_INVARIANTS, ids=lambda item: item.id)
def test_broken_verdict_is_noticed(invariant: Any) -> None:  # noqa: ANN401 - one of three kinds
    found = verdict_violations(state(BEGUN), *BROKEN_VERDICTS[invariant.id])
    assert invariant.id in {item.id for item in found}


@pytest.mark.parametrize(
    ("letter", "table"),
    [("I", INVARIANTS), ("E", EDGE_INVARIANTS), ("V", VERDICT_INVARIANTS)],
    ids=["states", "edges", "verdicts"],
)
def test_invariants_are_numbered_without_a_gap_and_say_one_sentence(
    letter: str,
    table: tuple[Any, ...],
) -> None:
    assert [item.id for item in table] == [f"{letter}-{n:02}" for n in range(1, len(table) + 1)]
    assert all(re.fullmatch(r"[A-Z][^.]+\.", item.statement) for item in table)
    assert len({item.statement for item in table}) == len(table)
