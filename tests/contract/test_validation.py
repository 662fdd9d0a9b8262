"""Input is checked before anything is read: malformed raises, whatever the state and the claim."""

from datetime import datetime

import pytest
from msgspec.structs import replace
from tests.contract.stage import Stage
from tests.contract.values import (
    ARGUMENTS,
    EVIDENCE,
    PROOF,
    REF,
    RESULT,
    SUBMISSION,
    Loose,
    at,
    claim_for,
)

import tenure

LONE_SURROGATE = "\ud800"
IDENTIFIERS = ["", "a\0", "x" * 256, "😀" * 128, LONE_SURROGATE, None, 7, b"a"]
INSTANTS = [
    datetime(2027, 1, 1),  # noqa: DTZ001 - naive on purpose
    "2027-01-01",
    "2027-01-01T00:00:00",
    "2027-01-01 00:00Z",
    "2027-02-30T00:00Z",
    "2027-01-01T24:00Z",
    "2027-01-01T00:00:60Z",
    "0001-01-01T00:00+01:00",
    " 2027-01-01T00:00Z",
    1_800_000_000,
    None,
]
BAD_EVIDENCE: list[Loose] = [
    replace(EVIDENCE, source=""),
    replace(EVIDENCE, source="s" * 129),
    replace(EVIDENCE, summary=""),
    replace(EVIDENCE, summary="😀" * 257),
    replace(EVIDENCE, observed_at="yesterday"),
    replace(EVIDENCE, observed_at=at()),
    replace(EVIDENCE, observed_at="2027-01-01T00:00:00." + "0" * 64 + "Z"),
    replace(EVIDENCE, code=""),
    replace(EVIDENCE, code="c" * 65),
    replace(EVIDENCE, summary=LONE_SURROGATE),
    {"source": "s", "summary": "s", "observedAt": "2027-01-01T00:00Z"},
    "evidence",
]
BAD_REFS: list[Loose] = [
    replace(REF, provider_id=""),
    replace(REF, version=2),
    replace(REF, version=True),
    replace(REF, version=1.0),
    replace(REF, provider_data=[]),
    replace(REF, provider_data={"n": float("nan")}),
    replace(REF, provider_data={"n": float("inf")}),
    replace(REF, provider_data={1: 2}),
    replace(REF, provider_data={"b": b"bytes"}),
    replace(REF, provider_data={"t": (1, 2)}),
    replace(REF, provider_data={"s": LONE_SURROGATE}),
    replace(REF, provider_data={"big": "x" * 65_537}),
    replace(REF, provider_data={"n": 10**4001}),
    {"version": 1, "providerId": "cloud", "providerData": {}},
    None,
]
DEEP: Loose = {}
for _ in range(5000):
    DEEP = {"d": DEEP}
CYCLE: dict[str, Loose] = {}
CYCLE["self"] = CYCLE
BAD_REFS += [replace(REF, provider_data=DEEP), replace(REF, provider_data=CYCLE)]
BAD_PROOFS: list[Loose] = [
    replace(PROOF, kind="lost"),
    replace(PROOF, provisioner_incarnation_id=""),
    *(replace(PROOF, evidence=evidence) for evidence in BAD_EVIDENCE[:3]),
    replace(PROOF, evidence=None),
    None,
]
BAD_RESULTS: list[Loose] = [
    replace(RESULT, workflow_id=""),
    replace(RESULT, execution_id=""),
    replace(RESULT, artifact=[1]),
    replace(RESULT, artifact={"x": object()}),
    replace(RESULT, artifact={"x": "y" * (1024 * 1024)}),
    tenure.FailedResult(execution_id="e", workflow_id="w", error=""),
    tenure.CancelledResult(execution_id="e", workflow_id="w", reason=""),
    tenure.PausedResult(
        execution_id="e", workflow_id="w", paused_at_gate_id="", paused_at_frame_id="f"
    ),
    {"status": "completed"},
    None,
]
BAD_CLAIMS: list[Loose] = [
    None.__class__,
    {"generation": 1},
    claim_for(generation="1"),
    claim_for(generation=True),
    claim_for(generation=1.0),
    claim_for(owner_id=None),
    claim_for(token=b"token"),
    claim_for().execution_attempt_id,
]
BAD_SUBMISSIONS: list[Loose] = [
    replace(SUBMISSION, workflow_id=""),
    replace(SUBMISSION, instruction=[]),
    replace(SUBMISSION, provider_ids=()),
    replace(SUBMISSION, provider_ids=["cloud"]),
    replace(SUBMISSION, attempts_max=0),
    replace(SUBMISSION, attempts_max=True),
    replace(SUBMISSION, attempt_timeout_ms=0),
    replace(SUBMISSION, labels={"n": 1}),
    None,
]
BAD: dict[str, list[Loose]] = {
    "execution_attempt_id": IDENTIFIERS,
    "execution_id": IDENTIFIERS,
    "provider_id": IDENTIFIERS,
    "provisioner_incarnation_id": IDENTIFIERS,
    "owner_id": IDENTIFIERS,
    "submitted_by": IDENTIFIERS,
    "requested_by": IDENTIFIERS,
    "allocation_lifetime": ["forever", "", None, 1],
    "lease_expires_at": INSTANTS,
    "observed_at": INSTANTS,
    "next_look_at": INSTANTS,
    "evidence": BAD_EVIDENCE,
    "allocation_ref": BAD_REFS,
    "current_ref": BAD_REFS,
    "next_ref": BAD_REFS,
    "proof": BAD_PROOFS,
    "result": BAD_RESULTS,
    "claim": BAD_CLAIMS,
    "submission": BAD_SUBMISSIONS,
    "reason": ["", "r" * 513, LONE_SURROGATE, 7],
    "closure": ["gone", "", None, 1],
}
"""What no operation accepts in a place of that name."""
OPTIONAL_PLACES: dict[str, dict[str, list[Loose]]] = {
    "ensure_attempt": {"replaces": [v for v in IDENTIFIERS if v is not None], "supersede": [1, ""]},
    "list_open": {
        "due_before": [v for v in INSTANTS if v is not None],
        "providers": ["cloud", [""], [7]],
        "execution_id": [v for v in IDENTIFIERS if v is not None],
        "after": ["a"],
        "limit": [0, 1001, True, "1", None],
    },
    "list_executions": {"concluded": [1, "yes"], "after": ["e"], "limit": [0, 1001, None]},
    "read_journal": {
        "execution_id": [v for v in IDENTIFIERS if v is not None],
        "execution_attempt_id": [v for v in IDENTIFIERS if v is not None],
        "after": [-1, True, 2**63, None],
        "limit": [0, 1001, None],
    },
}


def places_of(operation: str) -> dict[str, list[Loose]]:
    """List the arguments of an operation with the values that each refuses."""
    required = {name: BAD[name] for name in ARGUMENTS[operation]}
    return {**required, **OPTIONAL_PLACES.get(operation, {})}


async def refused(stage: Stage, operation: str, place: str, value: Loose) -> str | None:
    """Say what went wrong when the value was not refused, else None."""
    try:
        answer = await stage.call(operation, **{place: value})
    except tenure.InvalidInputError as error:
        return None if error.field.startswith(place) else f"{place} is called {error.field}"
    return f"{place}={value!r:.60} is answered {answer}"


@pytest.mark.parametrize("operation", ARGUMENTS)
@pytest.mark.parametrize("steps", ["", "created begun taken-over"])
async def test_malformed_argument_raises_and_writes_nothing(
    stage: Stage, operation: str, steps: str
) -> None:
    await stage.play(steps)
    before = await stage.rows()
    accepted = [
        fault
        for place, values in places_of(operation).items()
        for value in values
        if not (value is None and place in ("claim", "evidence") and "handoff" in operation)
        if (fault := await refused(stage, operation, place, value)) is not None
    ]
    assert accepted == []
    assert await stage.rows() == before


async def test_error_names_field_value_and_what_is_allowed(stage: Stage) -> None:
    with pytest.raises(tenure.InvalidInputError) as caught:
        await stage.call("create_attempt", execution_id="")
    assert isinstance(caught.value, ValueError)
    assert caught.value.field == "execution_id"
    assert "''" in caught.value.given
    assert "255" in caught.value.allowed


async def test_size_error_names_the_limit_and_the_size(stage: Stage) -> None:
    await stage.play("created begun")
    big = replace(REF, provider_data={"x": "y" * 70_000})
    with pytest.raises(tenure.InvalidInputError, match=r"70\d\d\d bytes.*65536"):
        await stage.call("record_allocation", allocation_ref=big)


@pytest.mark.parametrize(
    "identifier", ["x" * 255, "😀" * 127, " a ", "A\u0301", "a\nb", "￿", "'; DROP TABLE"]
)
async def test_any_other_text_is_an_identifier_and_is_kept(stage: Stage, identifier: str) -> None:
    record = await stage.call("create_attempt", execution_attempt_id=identifier)
    assert record.execution_attempt_id == identifier
    found = await stage.call(
        "recovery.get_attempt_with_allocation", execution_attempt_id=identifier
    )
    assert found == record


async def test_identifiers_are_compared_without_normalization(stage: Stage) -> None:
    for identifier in ("é", "e\u0301", "E", "e"):
        await stage.call("create_attempt", execution_attempt_id=identifier)
    assert (await stage.call("get_execution")).attempt_count == 4
