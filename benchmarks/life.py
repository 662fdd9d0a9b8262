# ruff: noqa: INP001 - scripts beside each other, not a package
"""One life of an attempt: the five transitions that every contender performs."""

import hashlib
import itertools
import os
from collections.abc import Iterator

from tenure.ledger.ledger import Ledger
from tenure.model.allocation import ProviderAllocationRef
from tenure.model.decision import AcceptedOutcome, Claimed, Recorded, Started
from tenure.model.result import CompletedResult

STAGES = ("create", "begin", "record", "renew", "commit")
LEASES = ("2036-01-01T00:00:00.000Z", "2036-01-01T00:00:30.000Z")
_ID_LENGTH = 32


class Life:
    """The ids and payloads of one attempt; the ids of any two lives have the same length."""

    def __init__(self, seed: bytes) -> None:
        """Derive everything from ``seed``."""
        digest = hashlib.sha256(seed).hexdigest()
        self.attempt_id = digest[:_ID_LENGTH]
        self.execution_id = digest[_ID_LENGTH:]
        self.ref = ProviderAllocationRef(
            provider_id="bench",
            provider_data={"instanceId": f"i-{digest[:17]}", "region": "eu-central-1", "slot": 7},
        )
        self.result = CompletedResult(
            execution_id=self.execution_id,
            workflow_id="build-and-test",
            artifact={"exitCode": 0, "log": f"s3://bucket/{self.execution_id}", "seconds": 41.5},
        )


def lives() -> Iterator[Life]:
    """Make lives without end, other ones in each process and call."""
    salt = os.urandom(8)
    return (Life(salt + number.to_bytes(8, "big")) for number in itertools.count())


async def live(ledger: Ledger, life: Life) -> None:
    """Take one attempt through its five transitions, each acknowledged before the next."""
    attempt_id, execution_id = life.attempt_id, life.execution_id
    await ledger.create_attempt(execution_attempt_id=attempt_id, execution_id=execution_id)
    begun = await ledger.begin_provisioning(
        execution_attempt_id=attempt_id,
        execution_id=execution_id,
        provider_id="bench",
        allocation_lifetime="provider-managed",
        provisioner_incarnation_id="incarnation-of-the-benchmark",
        owner_id="controller-of-the-benchmark",
        lease_expires_at=LEASES[0],
    )
    assert isinstance(begun, Started)
    recorded = await ledger.record_allocation(claim=begun.claim, allocation_ref=life.ref)
    assert isinstance(recorded, Recorded)
    renewed = await ledger.renew_provider_operation_claim(
        claim=begun.claim, lease_expires_at=LEASES[1]
    )
    assert isinstance(renewed, Claimed)
    committed = await ledger.commit_outcome(
        execution_attempt_id=attempt_id, execution_id=execution_id, result=life.result
    )
    assert isinstance(committed, AcceptedOutcome)
