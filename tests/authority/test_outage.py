"""A ledger that is away for a moment right when the provider has answered."""

import pytest
from tests.contract.values import Loose
from tests.remediation.scene import Scene, submission

from tenure.errors import CommitUnknownError, StorageUnavailableError, TenureError


class FlakyLedger:
    """A ledger whose chosen call fails a few times, before or after it was carried out."""

    def __init__(self, inner: Loose, name: str, error: TenureError, *, carried_out: bool) -> None:
        self._inner = inner
        self._name = name
        self._error = error
        self._carried_out = carried_out
        self.failures_left = 3

    def __getattr__(self, name: str) -> Loose:
        member = getattr(self._inner, name)
        if name != self._name:
            return member

        async def call(**arguments: Loose) -> Loose:
            if self.failures_left == 0:
                return await member(**arguments)
            self.failures_left -= 1
            if self._carried_out:
                await member(**arguments)
            raise self._error

        return call


AWAY = StorageUnavailableError(ledger="memory:", seen="it is locked")
UNKNOWN = CommitUnknownError(ledger="memory:", seen="the reply was lost")


@pytest.mark.parametrize(
    ("error", "carried_out"), [(AWAY, False), (UNKNOWN, False), (UNKNOWN, True)]
)
async def test_answer_of_the_one_call_is_recorded_all_the_same(
    scene: Scene, error: TenureError, *, carried_out: bool
) -> None:
    ledger = FlakyLedger(scene.ledger, "record_allocation", error, carried_out=carried_out)
    authority = scene.authority(ledger=ledger)
    await authority.submit(execution_id="e", submission=submission())
    dispatch = await authority.dispatch(execution_id="e")
    assert dispatch is not None
    assert ledger.failures_left == 0
    assert await scene.owed() == ["allocation-control"]
    assert (await scene.events()).count("allocation-recorded") == 1
    assert scene.world.count("provision") == 1
