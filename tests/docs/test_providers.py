"""The document on providers names every member, and its example is a provider that works."""

import re
import sys
import types
from datetime import UTC, datetime, timedelta
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import get_args

import pytest
from tests.tidy.source import ROOT

from tenure.errors import InvalidInputError
from tenure.ports import provider as port
from tenure.ports.provider import (
    Allocated,
    ConfirmedAbsent,
    Found,
    Gone,
    ProvenAbsent,
    Provider,
    ProviderRecovery,
    ProviderSite,
    ProviderTraits,
    ProvisionRequest,
    Running,
    Undetermined,
)
from tenure.wiring import providers
from tenure.wiring.providers import Providers

DOCUMENT = (ROOT / "docs" / "providers.md").read_text(encoding="utf-8")
NOW = datetime(2026, 1, 1, tzinfo=UTC)


async def now() -> datetime:
    return NOW


def request(mark: str, *, call_ends_at: datetime = NOW + timedelta(seconds=30)) -> ProvisionRequest:
    return ProvisionRequest(
        execution_id="execution",
        execution_attempt_id="attempt",
        workflow_id="workflow",
        instruction={"order": ["dig", "a", "hole"]},
        mark=mark,
        ledger_url="sqlite:///ledger.sqlite",
        begun_at=NOW,
        call_deadline_at=call_ends_at,
        deadline_at=None,
    )


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> types.ModuleType:
    """The example, as a module that can be imported by the name that the document gives it."""
    (code,) = re.findall(r"^```python\n(.*?)^```$", DOCUMENT, re.MULTILINE | re.DOTALL)
    made = types.ModuleType("tenure_dropbox")
    exec(compile(code, "docs/providers.md", "exec"), made.__dict__)
    monkeypatch.setitem(sys.modules, "tenure_dropbox", made)
    return made


@pytest.fixture
def dropbox(module: types.ModuleType, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Provider:
    assert module.Dropbox
    (line,) = re.findall(r'^dropbox = "(.*)"$', DOCUMENT, re.MULTILINE)
    point = EntryPoint(name="dropbox", value=line, group=providers.GROUP)
    monkeypatch.setattr(providers, "entry_points", lambda **_: [point])
    return Providers(ProviderSite(now=now, root=tmp_path))["dropbox"]


def test_every_member_has_its_row() -> None:
    protocols = (Provider, ProviderRecovery)
    members = {
        name for protocol in protocols for name in vars(protocol) if not name.startswith("_")
    }
    members |= {*Provider.__annotations__}
    assert members == set(re.findall(r"^\| `(\w+)` \|", DOCUMENT.split("###")[0], re.MULTILINE))


def test_every_answer_and_trait_is_named() -> None:
    answers = [*get_args(port.ProvisionAnswer), *get_args(port.Discovery)]
    answers += get_args(port.Inspection)
    assert [kind for kind in answers if f"`{kind.__name__}`" not in DOCUMENT] == []
    assert [t for t in ProviderTraits.__struct_fields__ if f"* `{t}`:" not in DOCUMENT] == []


async def test_the_example_finds_what_it_made_and_ends_it(dropbox: Provider) -> None:
    answer = await dropbox.provision(request("mark"))
    assert isinstance(answer, Allocated)
    recovery, ref = dropbox.recovery, answer.allocation_ref
    assert recovery is not None
    found = await recovery.discover(mark="mark", begun_at=NOW)
    assert isinstance(found, Found)
    assert found.allocation_ref == ref
    assert isinstance(await recovery.inspect(mark="mark", allocation_ref=ref), Running)
    for _ in range(2):
        assert isinstance(await recovery.terminate(mark="mark", allocation_ref=ref), Gone)
    assert isinstance(await recovery.inspect(mark="other", allocation_ref=ref), Undetermined)
    with pytest.raises(FileExistsError):
        await dropbox.provision(request("mark"))


async def test_the_example_does_not_end_what_a_worker_has_taken(
    dropbox: Provider, tmp_path: Path
) -> None:
    answer = await dropbox.provision(request("mark"))
    assert isinstance(answer, Allocated)
    assert dropbox.recovery is not None
    (tmp_path / "dropbox" / "mark.taken").write_text("worker 7")
    ref = answer.allocation_ref
    assert isinstance(await dropbox.recovery.terminate(mark="mark", allocation_ref=ref), Running)
    assert (tmp_path / "dropbox" / "mark.stop").exists()
    (tmp_path / "dropbox" / "mark.done").touch()
    assert isinstance(await dropbox.recovery.inspect(mark="mark", allocation_ref=ref), Gone)


async def test_the_example_refuses_what_comes_after_its_tombstone(dropbox: Provider) -> None:
    assert dropbox.recovery is not None
    for _ in range(2):
        absent = await dropbox.recovery.discover(mark="mark", begun_at=NOW)
        assert isinstance(absent, ProvenAbsent)
    assert isinstance(await dropbox.provision(request("mark")), ConfirmedAbsent)
    assert isinstance(await dropbox.provision(request("late", call_ends_at=NOW)), ConfirmedAbsent)
    with pytest.raises(InvalidInputError):
        dropbox.check_instruction({})
