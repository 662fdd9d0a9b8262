"""The providers that this process can reach."""

from collections.abc import Mapping
from pathlib import Path

from tenure.ledger.ledger import Ledger
from tenure.ports.provider import Provider
from tenure.providers.detached import DetachedProvider
from tenure.wiring.ledgers import state_folder

ATTEMPTS_FOLDER = "attempts"


def open_providers(ledger: Ledger, *, root: Path | None = None) -> Mapping[str, Provider]:
    """Make every provider of this process, by id.

    Args:
        ledger: whose time they keep.
        root: where local attempts keep their folders; the user's state folder by default.

    Raises:
        ProviderError: this machine cannot offer one.
    """
    folder = root or state_folder() / ATTEMPTS_FOLDER
    detached = DetachedProvider(root=folder, now=ledger.now)
    return {detached.provider_id: detached}
