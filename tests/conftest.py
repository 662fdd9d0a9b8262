"""What every test of the house gets: one event loop library, and the root-only tests kept apart."""

import os

import pytest
from hypothesis import settings

# A busy machine is no failure, and a failure says how to see it again.
settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, the loop that the stores' drivers need."""
    return "asyncio"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip what needs root when we are somebody else."""
    if os.geteuid() == 0:
        return
    for item in items:
        if item.get_closest_marker("needs_root"):
            item.add_marker(pytest.mark.skip(reason="needs root"))
