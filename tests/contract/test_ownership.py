"""Leases, takeovers, handoffs, renewals, doubts, and what they fence."""

from datetime import timedelta, timezone

import pytest
from msgspec.structs import replace
from tests.contract import hooks
from tests.contract.stage import Stage
from tests.contract.values import EVIDENCE, LEASE_MS, OTHER_EVIDENCE, Loose, at

import tenure

PARTS = {
    "operation": (
        "created begun",
        "take_over_provider_operation",
        "renew_provider_operation_claim",
        "handoff_provider_operation",
        "record_provider_operation_uncertainty",
        "get_provider_operation",
    ),
    "reclamation": (
        "created begun answered",
        "take_over_reclamation",
        "renew_reclamation_claim",
        "handoff_reclamation",
        "record_reclamation_uncertainty",
        "get_reclamation",
    ),
}
TOKYO = timezone(timedelta(hours=9))


class Part:
    """An operation or a reclamation, whose ownership follows the same rules."""

    def __init__(self, stage: Stage, kind: str) -> None:
        self.stage = stage
        names = PARTS[kind]
        self.steps, self.take_over, self.renew, self.hand_off, self.doubt, self.read = names

    async def call(self, operation: str, /, **changed: Loose) -> Loose:
        """Call an operation on the stage."""
        return await self.stage.call(operation, **changed)


@pytest.fixture(params=PARTS)
async def part(request: pytest.FixtureRequest, stage: Stage) -> Part:
    """Give an open, owned operation and an open, owned reclamation."""
    made = Part(stage, request.param)
    await stage.play(made.steps)
    return made


@pytest.mark.parametrize(
    ("observed_at", "kind"),
    [
        (at(LEASE_MS - 1), "stale"),
        (at(LEASE_MS), "claimed"),
        (at(LEASE_MS + 1), "claimed"),
        (at(LEASE_MS) + timedelta(microseconds=999), "claimed"),
        (at(LEASE_MS) - timedelta(microseconds=1), "stale"),
        (at(LEASE_MS).astimezone(TOKYO), "claimed"),
        (at(LEASE_MS - 1).astimezone(TOKYO), "stale"),
        ("2027-01-15T08:00:14.999Z", "stale"),
        ("2027-01-15T08:00:14.9999Z", "stale"),
        ("2027-01-15T08:00:15Z", "claimed"),
        ("2027-01-15T10:00:15+02:00", "claimed"),
        ("2027-01-15T10:00:14.999+02:00", "stale"),
        ("2027-01-15T02:30:15-05:30", "claimed"),
        ("2027-01-15T08:01Z", "claimed"),
        ("2027-01-15T08:00Z", "stale"),
        ("9999-12-31T23:59:59.999Z", "claimed"),
        ("0001-01-01T00:00Z", "stale"),
    ],
)
async def test_lease_runs_until_the_observation_reaches_it(
    part: Part, observed_at: Loose, kind: str
) -> None:
    answer = await part.call(part.take_over, observed_at=observed_at)
    assert answer.kind == kind


@pytest.mark.parametrize(
    "lease",
    [
        at(30_000),
        at(30_000).astimezone(TOKYO),
        at(30_000) + timedelta(microseconds=999),
        "2027-01-15T08:00:30Z",
        "2027-01-15T17:00:30.000999+09:00",
        "2027-01-15T07:29:30.00-00:31",
    ],
)
async def test_lease_is_kept_as_an_instant_in_milliseconds(part: Part, lease: Loose) -> None:
    renewed = await part.call(part.renew, lease_expires_at=lease)
    assert renewed.claim.lease_expires_at == at(30_000)
    assert (await part.call(part.read)).lease_expires_at == at(30_000)
    assert (await part.call(part.take_over, observed_at=at(29_999))).kind == "stale"
    assert (await part.call(part.take_over, observed_at=at(30_000))).kind == "claimed"


async def test_renewal_keeps_the_older_claim_good(part: Part) -> None:
    older = part.stage.claim
    renewed = (await part.call(part.renew)).claim
    assert renewed == replace(older, lease_expires_at=at(2 * LEASE_MS))
    for claim in (older, renewed, older):
        assert (await part.call(part.doubt, claim=claim)).kind == "recorded"


@pytest.mark.parametrize("lease", [at(-1), at(-(10**9)), "0001-01-01T00:00Z", at(1)])
async def test_backdated_lease_is_accepted_and_takes_no_authority_away(
    part: Part, lease: Loose
) -> None:
    assert (await part.call(part.renew, lease_expires_at=lease)).kind == "claimed"
    assert (await part.call(part.doubt)).kind == "recorded"
    taken = await part.call(part.take_over, observed_at=at(1), lease_expires_at=lease)
    assert taken.kind == "claimed"
    assert (await part.call(part.doubt, claim=taken.claim)).kind == "recorded"


async def test_backdated_lease_is_accepted_on_begin(stage: Stage) -> None:
    await stage.play("created")
    started = await stage.call("begin_provisioning", lease_expires_at=at(-5_000))
    assert started.claim.lease_expires_at == at(-5_000)
    assert (await stage.call("record_allocation", claim=started.claim)).kind == "recorded"


async def test_takeover_fences_every_older_claim_at_once(part: Part) -> None:
    first = part.stage.claim
    second = (await part.call(part.take_over)).claim
    third = (
        await part.call(
            part.take_over, owner_id=first.owner_id, observed_at=second.lease_expires_at
        )
    ).claim
    assert [claim.generation for claim in (first, second, third)] == [1, 2, 3]
    assert len({first.token, second.token, third.token}) == 3
    for claim in (first, second):
        for operation in (part.doubt, part.renew, part.hand_off):
            assert (await part.call(operation, claim=claim)).kind == "stale"
    assert (await part.call(part.doubt, claim=third)).kind == "recorded"


async def test_takeover_keeps_what_is_owed_and_the_evidence(part: Part) -> None:
    await part.call(part.doubt)
    before = await part.call(part.read)
    taken = (await part.call(part.take_over)).claim
    after = await part.call(part.read)
    assert after == replace(
        before,
        generation=2,
        owner_id="owner-2",
        token=taken.token,
        lease_expires_at=at(2 * LEASE_MS),
    )


async def test_handoff_releases_at_once_and_replays_as_stale(part: Part) -> None:
    before = await part.call(part.read)
    assert (await part.call(part.hand_off, evidence=OTHER_EVIDENCE)).kind == "recorded"
    assert await part.call(part.read) == replace(
        before, owner_id=None, token=None, lease_expires_at=None, last_failure=OTHER_EVIDENCE
    )
    assert (await part.call(part.hand_off)).kind == "stale"
    taken = await part.call(part.take_over, observed_at="0001-01-01T00:00Z")
    assert (taken.kind, taken.claim.generation) == ("claimed", 2)


async def test_handoff_without_evidence_keeps_the_older_one(part: Part) -> None:
    await part.call(part.doubt)
    await part.call(part.hand_off, evidence=None)
    record = await part.call(part.read)
    assert (record.failure_count, record.last_failure) == (1, EVIDENCE)


async def test_doubt_counts_and_keeps_the_newest_evidence(part: Part) -> None:
    for count, evidence in enumerate([EVIDENCE, OTHER_EVIDENCE, EVIDENCE], start=1):
        await part.call(part.doubt, evidence=evidence)
        record = await part.call(part.read)
        assert (record.failure_count, record.last_failure) == (count, evidence)


async def test_failure_count_saturates(part: Part) -> None:
    rewrite = (
        hooks.rewrite_operation
        if part.read == "get_provider_operation"
        else hooks.rewrite_reclamation
    )
    await rewrite(part.stage.ledger, "a", failure_count=2**31 - 2)
    for evidence in (EVIDENCE, OTHER_EVIDENCE):
        assert (await part.call(part.doubt, evidence=evidence)).kind == "recorded"
        record = await part.call(part.read)
        assert (record.failure_count, record.last_failure) == (2**31 - 1, evidence)


@pytest.mark.parametrize(
    ("steps", "obligation"),
    [
        ("created begun", "provisioning-resolution"),
        ("created begun allocated", "allocation-control"),
        ("created begun discovered", "allocation-control"),
        ("created begun allocated terminated", "terminal-convergence"),
    ],
)
async def test_doubt_keeps_the_obligation_and_never_settles(
    stage: Stage, steps: str, obligation: str
) -> None:
    await stage.play(steps)
    before = await stage.call("recovery.get_attempt_with_allocation")
    await stage.play("doubted")
    operation = await stage.call("get_provider_operation")
    assert (operation.obligation, operation.failure_count) == (obligation, 1)
    assert await stage.call("recovery.get_attempt_with_allocation") == before


@pytest.mark.parametrize(
    "steps",
    [
        "created begun absent",
        "created begun-process-bound lost",
        "created begun allocated terminated failed",
        "created begun answered",
        "created begun allocated answered",
    ],
)
async def test_closed_operation_is_unowned_and_still_answered(stage: Stage, steps: str) -> None:
    *earlier, last = steps.split()
    await stage.play(" ".join(earlier))
    before = await stage.call("get_provider_operation")
    await stage.play(last)
    closed = await stage.call("get_provider_operation")
    evidence = EVIDENCE if last in ("absent", "lost") else before.last_failure
    assert closed == replace(
        before, owner_id=None, token=None, lease_expires_at=None, last_failure=evidence
    )


async def test_there_is_no_operation_before_begin(stage: Stage) -> None:
    assert await stage.call("get_provider_operation") is None
    await stage.play("created")
    assert await stage.call("get_provider_operation") is None


async def test_begin_opens_the_operation_and_binds_for_life(stage: Stage) -> None:
    await stage.play("created begun")
    operation = await stage.call("get_provider_operation")
    assert operation == tenure.ProviderOperationRecord(
        execution_attempt_id="a",
        generation=1,
        owner_id="owner-1",
        token=stage.claim.token,
        lease_expires_at=at(LEASE_MS),
        obligation="provisioning-resolution",
        failure_count=0,
        last_failure=None,
    )
    again = await stage.call("begin_provisioning", provider_id="rival", owner_id="owner-9")
    assert again == tenure.AlreadyProvisioning()
    record = await stage.call("recovery.get_attempt_with_allocation")
    assert (record.provider_id, record.allocation_lifetime, record.provisioner_incarnation_id) == (
        "cloud",
        "provider-managed",
        "incarnation-1",
    )
    assert await stage.call("get_provider_operation") == operation


async def test_termination_repeats_and_keeps_the_newest_evidence(stage: Stage) -> None:
    await stage.play("created begun allocated doubted")
    for evidence in (OTHER_EVIDENCE, EVIDENCE, OTHER_EVIDENCE):
        answer = await stage.call("record_allocation_terminated", evidence=evidence)
        assert answer == tenure.Recorded()
        operation = await stage.call("get_provider_operation")
        assert (operation.obligation, operation.failure_count, operation.last_failure) == (
            "terminal-convergence",
            1,
            evidence,
        )
    await stage.play("failed")
    assert (await stage.call("get_provider_operation")).last_failure == OTHER_EVIDENCE


async def test_observation_from_the_future_is_trusted(part: Part) -> None:
    taken = await part.call(part.take_over, observed_at=at(10**12))
    assert taken.kind == "claimed"
