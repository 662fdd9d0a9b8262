"""Providers are found by id, and one that is broken says so and is in nobody's way."""

import sys
import types
from collections.abc import Callable
from datetime import UTC, datetime
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest
from tests.tidy.source import read_pyproject

from tenure.errors import ProviderError
from tenure.ports.provider import ProviderSite
from tenure.providers.process import ProcessProvider
from tenure.wiring import providers
from tenure.wiring.providers import GROUP, OWN, Providers

Offer = Callable[..., None]


async def now() -> datetime:
    return datetime(2026, 1, 1, tzinfo=UTC)


class _Found(list[EntryPoint]):
    @property
    def names(self) -> set[str]:
        return {point.name for point in self}


@pytest.fixture
def site(tmp_path: Path) -> ProviderSite:
    return ProviderSite(now=now, root=tmp_path)


@pytest.fixture
def offered(site: ProviderSite) -> Providers:
    return Providers(site)


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Let packages offer providers: each a module of ours, and the name of its factory."""
    points = _Found()

    def entry_points(*, group: str, name: str | None = None) -> _Found:
        assert group == GROUP
        return _Found(point for point in points if name in (None, point.name))

    monkeypatch.setattr(providers, "entry_points", entry_points)

    def add(name: str, factory: object = None, *, module: str = "offered_providers") -> None:
        made = sys.modules.get(module) or types.ModuleType(module)
        monkeypatch.setitem(sys.modules, module, made)
        if factory is not None:
            setattr(made, name, factory)
        points.append(EntryPoint(name=name, value=f"{module}:{name}", group=GROUP))

    return add


def renamed(provider_id: str) -> Callable[[ProviderSite], object]:
    class Renamed(ProcessProvider):
        pass

    Renamed.provider_id = provider_id
    return lambda site: Renamed(root=site.root, now=site.now)


def test_ours_are_what_the_package_declares() -> None:
    assert read_pyproject()["project"]["entry-points"][GROUP] == OWN


def test_ours_are_there_without_anything_installed(offered: Providers, offer: Offer) -> None:
    offer("another")
    assert list(offered) == ["another", "detached", "process"]
    assert len(offered) == 3
    for name in OWN:
        assert offered[name].provider_id == name
        assert offered[name] is offered[name]
    lifetimes = [offered[name].traits.allocation_lifetime for name in ("detached", "process")]
    assert lifetimes == ["provider-managed", "provisioner-process-bound"]


def test_another_packages_provider_is_used(offered: Providers, offer: Offer) -> None:
    offer("another", renamed("another"))
    assert "another" in offered
    assert offered["another"].provider_id == "another"


def test_nobodys_provider_is_missing(offered: Providers, offer: Offer) -> None:
    offer("another")
    assert offered.get("nobody") is None
    assert "nobody" not in offered


def test_ours_cannot_be_replaced(offered: Providers, offer: Offer) -> None:
    offer("process", renamed("process"))
    assert type(offered["process"]) is ProcessProvider


def raising(_: ProviderSite) -> object:
    message = "no credentials"
    raise RuntimeError(message)


def without_members(_: ProviderSite) -> object:
    return types.SimpleNamespace(provider_id="broken", recovery=types.SimpleNamespace())


def with_other_traits(site: ProviderSite) -> object:
    provider = renamed("broken")(site)
    provider.traits = "all of them"  # type: ignore[attr-defined]  # on purpose
    return provider


@pytest.mark.parametrize(
    ("factory", "seen"),
    [
        (None, "cannot be opened: AttributeError"),
        (raising, "cannot be opened: RuntimeError: no credentials"),
        ("no factory", "cannot be opened: TypeError"),
        (without_members, "no provider: it lacks traits, check_instruction, provision, read_out"),
        (without_members, "recovery.discover, recovery.inspect"),
        (renamed("other"), "no provider: its id is 'other'"),
        (with_other_traits, "no provider: its traits are of type str"),
    ],
)
def test_a_broken_provider_is_named_and_disturbs_no_other(
    offered: Providers, offer: Offer, factory: object, seen: str
) -> None:
    offer("broken", factory)
    with pytest.raises(ProviderError, match="provider 'broken' failed") as raised:
        offered.get("broken")
    assert seen in str(raised.value)
    assert raised.value.provider_id == "broken"
    assert "broken" not in offered
    assert "broken" in list(offered)
    assert offered["process"].provider_id == "process"


def test_a_provider_that_cannot_be_imported_is_named(offered: Providers, offer: Offer) -> None:
    offer("broken")
    del sys.modules["offered_providers"]
    with pytest.raises(ProviderError, match="ModuleNotFoundError"):
        offered["broken"]


def test_a_provider_that_two_offer_is_nobodys(offered: Providers, offer: Offer) -> None:
    offer("another", renamed("another"))
    offer("another", renamed("another"), module="more_offered_providers")
    with pytest.raises(ProviderError, match="offered more than once") as raised:
        offered["another"]
    assert "more_offered_providers:another" in str(raised.value)
