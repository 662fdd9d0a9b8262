"""A scene for each test, with every invariant asked around every transition."""

from collections.abc import AsyncIterator

import pytest
from tests.remediation.scene import Scene, playing


@pytest.fixture
async def scene(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Scene]:
    """Give a scene in memory; whatever happened in it, it has to have been safe."""
    async with playing(monkeypatch) as opened:
        yield opened
