"""Which isolation is in force: with less than root's rights, and where no namespace can be had."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from tests.providers.bound import ROOT, Token, assert_all_gone, provisioner, until_hostile
from tests.providers.conftest import World

from tenure.ports.provider import Running
from tenure.providers.process.launch import IsolationChoice

pytestmark = pytest.mark.needs_root

SETPRIV = shutil.which("setpriv") or "setpriv"
WITHOUT_SYS_ADMIN = [SETPRIV, "--bounding-set=-sys_admin", "--inh-caps=-all"]
WITHOUT_ANY = [SETPRIV, "--bounding-set=-all", "--inh-caps=-all"]
NOBODY = 65534
AS_NOBODY = [SETPRIV, f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
AS_NOBODY += ["env"]  # the first program may still be executed with root's rights
LIBRARIES = os.pathsep.join([str(ROOT), str(ROOT / "src"), sysconfig.get_path("purelib")])


@pytest.fixture
def isolation() -> IsolationChoice:
    return "auto"


def may_have_namespaces(prefix: Sequence[str]) -> bool:
    """Ask the system's own program whether such a user may make what is needed."""
    command = [*prefix, "unshare", "--user", "--pid", "--fork", "--mount-proc", "true"]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


async def assert_ends_with_provisioner(world: World, prefix: Sequence[str], expected: str) -> None:
    token = Token()
    with provisioner(world, token.command(), prefix=prefix) as parent:
        (started,) = parent.started
        assert started.ref.provider_data["isolation"] == expected
        await until_hostile(world, started, token)
        assert isinstance(await world.inspect(started), Running)
        parent.kill()
        await assert_all_gone(world, started, token)


async def test_root_has_a_namespace_without_another_user(world: World) -> None:
    started = await world.start(["sh", "-c", "readlink /proc/self/ns/user; echo $$"])
    assert started.ref.provider_data["isolation"] == "namespace"
    await world.until_gone(started)
    user, pid = world.read(started.mark, "output.log").decode().split()
    assert user == os.readlink("/proc/self/ns/user")  # noqa: PTH115
    assert int(pid) < 100


async def test_a_user_namespace_does_where_privilege_is_missing(world: World) -> None:
    if not may_have_namespaces(WITHOUT_SYS_ADMIN):
        pytest.skip("this machine gives no user namespaces")
    prefix = [*WITHOUT_SYS_ADMIN, sys.executable]
    await assert_ends_with_provisioner(world, prefix, "namespace")


async def test_without_any_namespace_orphans_are_adopted(world: World) -> None:
    await assert_ends_with_provisioner(world, [*WITHOUT_ANY, sys.executable], "subreaper")


async def test_a_namespace_that_was_asked_for_is_not_replaced(world: World) -> None:
    world.isolation = "namespace"
    prefix = [*WITHOUT_ANY, sys.executable]
    with provisioner(world, ["true"], prefix=prefix) as parent:
        (reason,) = parent.absent
        assert reason.startswith("the agent could not be started: namespace: ")
    assert world.commits() == []
    assert world.bearers(parent.marks[0]) == ()


@pytest.fixture
def nobodys_folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tenure-nobody-"))
    os.chown(folder, NOBODY, NOBODY)
    yield folder
    shutil.rmtree(folder)


def nobodys_interpreter() -> str:
    """Find a Python of this version that anybody may execute, with our libraries."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for candidate in (sys.executable, f"/usr/bin/{version}", f"/usr/local/bin/{version}"):
        command = [*AS_NOBODY, candidate, "-P", "-c", "import tenure.wiring.agent, anyio, pytest"]
        environment = {"PYTHONPATH": LIBRARIES, "PATH": os.defpath}
        try:
            subprocess.run(command, env=environment, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return candidate
    pytest.skip(f"nobody may execute {version} with the project's libraries")


def observed(world: World, mark: str, act: str, interpreter: str) -> str:
    script = Path(__file__).with_name("observer.py")
    command = [*AS_NOBODY, interpreter, "-P", str(script), str(world.folder), mark, act]
    environment = {"PYTHONPATH": LIBRARIES, "PATH": os.defpath}
    return subprocess.run(command, env=environment, capture_output=True, check=True).stdout.decode()


@pytest.mark.parametrize("choice", ["namespace", "subreaper"])
async def test_an_unprivileged_user_has_the_same(
    nobodys_folder: Path, choice: IsolationChoice
) -> None:
    interpreter = nobodys_interpreter()
    if choice == "namespace" and not may_have_namespaces(AS_NOBODY):
        pytest.skip("this machine gives its users no namespaces")
    script = Path(__file__).with_name("scripted_agent.py")
    command = (interpreter, "-P", str(script), "tenure.wiring.agent")
    world = World(nobodys_folder, isolation=choice, agent_command=command)
    os.chown(world.ledger, NOBODY, NOBODY)
    prefix, libraries = [*AS_NOBODY, interpreter], {"PYTHONPATH": LIBRARIES}
    tokens = [Token(interpreter=interpreter) for _ in range(2)]
    try:
        for token, act in zip(tokens, ["conclude", "terminate"], strict=True):
            with provisioner(
                world, token.command(), prefix=prefix, environment=libraries
            ) as parent:
                (started,) = parent.started
                assert started.ref.provider_data["isolation"] == choice
                await until_hostile(world, started, token)
                assert observed(world, started.mark, "inspect", interpreter) == "Running 3"
                if act == "conclude":
                    parent.kill()
                assert observed(world, started.mark, act, interpreter) == "Gone 0"
                assert token.bearers() == []
    finally:
        world.end_everything()
