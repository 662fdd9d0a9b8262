"""What is no ledger, or none that can be used, is refused with a reason and left as it was."""

import asyncio
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest.mock import patch

import apsw
import pytest
from tests.unit.stores.sqlite.files import (
    OPEN,
    has_log,
    make_database,
    make_folder,
    make_ledger,
    names_in,
    photograph,
    read,
    refusal,
    write,
)
from tests.unit.stores.sqlite.ledgers import count, run_python

from tenure.errors import LedgerOpenError
from tenure.stores.sqlite import open_sqlite_store
from tenure.stores.sqlite.header import SCHEMA_VERSION


async def test_an_sqlite_that_does_not_sync_is_refused(path: Path) -> None:
    setup = ("PRAGMA synchronous = NORMAL",)
    with patch("tenure.stores.sqlite.connection._SETUP", setup):
        assert (await refusal(path)).reason == "driver"


@pytest.mark.parametrize("version", ["3.40.1", "3.51.2", "3.9.0"])
async def test_an_sqlite_that_loses_commits_is_refused(path: Path, version: str) -> None:
    with patch("apsw.sqlite_lib_version", return_value=version):
        error = await refusal(path)
    assert error.reason == "driver"
    assert version in str(error)


async def test_a_missing_ledger_is_not_made_unless_asked_for(tmp_path: Path) -> None:
    assert (await refusal(tmp_path / "ledger.db", create=False)).reason == "missing"
    assert (await refusal(tmp_path / "no" / "ledger.db", create=False)).reason == "missing"
    write(tmp_path / "empty.db", b"")
    assert (await refusal(tmp_path / "empty.db", create=False)).reason == "missing"


async def test_a_directory_is_refused(tmp_path: Path) -> None:
    make_folder(tmp_path / "ledger.db")
    assert (await refusal(tmp_path / "ledger.db")).reason == "directory"


async def test_what_is_no_regular_file_is_refused(path: Path) -> None:
    os.mkfifo(path)
    with pytest.raises(LedgerOpenError) as caught:
        await open_sqlite_store(str(path), name="sqlite:ledger.db")
    assert caught.value.reason == "inaccessible"


@pytest.mark.parametrize(
    ("bad", "seen"),
    [
        ("a\0b", "NUL"),
        ("new/a\0b", "NUL"),
        ("\ud800", "Unicode"),
        ("d\udcff/x", "Unicode"),
        ("f" * 248, "a name"),
        ("new/" + "é" * 124, "a name"),
        (f"{'f' * 256}/new/x", "a name"),
        ("new/" * 130 + "x", "longer"),
        ("new/" * 2000 + "x", "longer"),
    ],
)
async def test_a_path_that_cannot_be_is_refused(tmp_path: Path, bad: str, seen: str) -> None:
    with (
        patch("os.mknod", side_effect=AssertionError),
        patch("pathlib.Path.mkdir", side_effect=AssertionError),
        pytest.raises(LedgerOpenError, match=seen) as caught,
    ):
        await open_sqlite_store(f"{tmp_path}/{bad}", name="sqlite:ledger.db")
    assert caught.value.reason == "inaccessible"
    assert names_in(tmp_path) == []


async def test_the_longest_paths_are_fine(tmp_path: Path) -> None:
    long = "f" * (504 - len(os.fsencode(tmp_path)) - 249)
    for path in (tmp_path / ("f" * 247), tmp_path / long[1:200] / long[200:] / ("é" * 123 + "a")):
        store = await open_sqlite_store(str(path), name="sqlite:ledger.db")
        await store.aclose()


@pytest.mark.parametrize("broken", ["connect", "read_header", "check_access"])
@pytest.mark.parametrize("error", [ValueError, OSError, RecursionError])
async def test_a_creation_that_fails_takes_back_what_it_made(
    tmp_path: Path, broken: str, error: type[Exception]
) -> None:
    path = tmp_path / "new" / "er" / "ledger.db"
    with (
        patch(f"tenure.stores.sqlite.opening.{broken}", side_effect=error),
        pytest.raises((LedgerOpenError, error)),
    ):
        await open_sqlite_store(str(path), name="sqlite:ledger.db")
    assert names_in(tmp_path) == []


async def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    write(tmp_path / "file", b"x")
    assert (await refusal(tmp_path / "file" / "ledger.db")).reason == "inaccessible"
    assert (await refusal(tmp_path / "file" / "more" / "ledger.db")).reason == "inaccessible"


@pytest.mark.parametrize(
    "content",
    [b"x", b"hello, this is a text\n" * 50, b"\0" * 4096, b"SQLite format 3\0", b"SQLite format 3"],
)
async def test_what_is_no_database_is_refused(path: Path, content: bytes) -> None:
    write(path, content)
    assert (await refusal(path)).reason == "corrupt"


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("application_id", [0, 7])
async def test_another_programs_database_is_refused(
    path: Path, mode: str, application_id: int
) -> None:
    make_database(
        path,
        f"PRAGMA journal_mode = {mode}",
        f"PRAGMA application_id = {application_id}",
        "CREATE TABLE theirs (x)",
        "INSERT INTO theirs VALUES (1)",
    )
    assert (await refusal(path)).reason == "foreign"


async def test_another_programs_database_in_use_is_refused_and_left_in_peace(path: Path) -> None:
    theirs = apsw.Connection(str(path))
    theirs.pragma("journal_mode", "wal")
    theirs.execute("CREATE TABLE theirs (x); INSERT INTO theirs VALUES (1)")
    assert has_log(path)
    assert (await refusal(path)).reason == "foreign"
    theirs.execute("INSERT INTO theirs VALUES (2)")
    assert theirs.execute("SELECT count(*) FROM theirs").fetchall() == [(2,)]
    theirs.close()


async def test_a_newer_schema_is_refused_even_for_an_upgrade(ledger: Path) -> None:
    make_database(ledger, f"PRAGMA user_version = {SCHEMA_VERSION + 1}")
    assert (await refusal(ledger)).reason == "newer"
    assert (await refusal(ledger, upgrade=True)).reason == "newer"


async def test_a_newer_schema_in_use_is_refused(ledger: Path) -> None:
    using = apsw.Connection(str(ledger))
    using.pragma("user_version", SCHEMA_VERSION + 1)
    shared = ledger.with_name(ledger.name + "-shm")
    before = {k: v for k, v in photograph(ledger.parent).items() if k != str(shared)}
    with pytest.raises(LedgerOpenError) as caught:
        await open_sqlite_store(str(ledger), name="sqlite:ledger.db")
    assert caught.value.reason == "newer"
    after = {k: v for k, v in photograph(ledger.parent).items() if k != str(shared)}
    assert after == before  # the shared memory holds nothing but SQLite's own locks
    using.close()


async def test_an_older_schema_needs_an_upgrade(ledger: Path) -> None:
    with (
        patch("tenure.stores.sqlite.header.SCHEMA_VERSION", SCHEMA_VERSION + 1),
        patch("tenure.stores.sqlite.schema.SCHEMA_VERSION", SCHEMA_VERSION + 1),
        patch("tenure.stores.sqlite.schema.MIGRATIONS", ("", "CREATE TABLE more (x TEXT) STRICT")),
    ):
        error = await refusal(ledger)
        assert error.reason == "older"
        assert "tenure ledger upgrade" in str(error)
        store = await open_sqlite_store(str(ledger), name="sqlite:ledger.db", upgrade=True)
        assert await count(store) == 1
        await store.aclose()
        again = await open_sqlite_store(str(ledger), name="sqlite:ledger.db")
        assert again.ledger_id == store.ledger_id
        await again.aclose()
    assert (await refusal(ledger)).reason == "newer"


async def test_a_migration_that_fails_changes_nothing(ledger: Path) -> None:
    broken = "CREATE TABLE more (x TEXT) STRICT; CREATE TABLE more (x TEXT) STRICT"
    with (
        patch("tenure.stores.sqlite.header.SCHEMA_VERSION", SCHEMA_VERSION + 1),
        patch("tenure.stores.sqlite.schema.SCHEMA_VERSION", SCHEMA_VERSION + 1),
        patch("tenure.stores.sqlite.schema.MIGRATIONS", ("", broken)),
    ):
        await refusal(ledger, upgrade=True)
    store = await open_sqlite_store(str(ledger), name="sqlite:ledger.db")
    assert await count(store) == 1
    await store.aclose()


@pytest.mark.parametrize("length", [99, 100, 512, 4096, -1, -4096])
async def test_a_truncated_ledger_is_refused(ledger: Path, length: int) -> None:
    content = read(ledger)
    write(ledger, content[:length])
    assert (await refusal(ledger)).reason == "corrupt"


async def test_a_flipped_bit_of_the_first_page_is_refused_or_harmless(ledger: Path) -> None:
    content = read(ledger)
    reasons = set()
    for at in (*range(108), *range(108, 4096, 61)):
        for bit in (0, 3, 7):
            flipped = bytearray(content)
            flipped[at] ^= 1 << bit
            write(ledger, flipped)
            try:
                store = await open_sqlite_store(str(ledger), name="sqlite:ledger.db")
            except LedgerOpenError as error:
                reasons.add(error.reason)
            else:
                await store.check()
                await store.aclose()
    assert reasons <= {"corrupt", "foreign", "newer", "older"}
    assert {"corrupt", "foreign", "newer"} <= reasons


async def test_a_ledger_that_lost_its_own_row_is_refused(ledger: Path) -> None:
    make_database(ledger, "DELETE FROM ledger")
    assert (await refusal(ledger)).reason == "corrupt"


async def test_a_ledger_that_stays_locked_is_refused(path: Path) -> None:
    write(path, b"")
    holder = apsw.Connection(str(path))
    holder.execute("BEGIN EXCLUSIVE")
    error = await refusal(path, busy_timeout_seconds=0.05)
    assert error.reason == "locked"
    holder.close()


@pytest.fixture
def read_only_mount(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "mount"
    folder.mkdir()
    options = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(folder)]
    if subprocess.run(options, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def make_read_only(mount: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(mount)], check=True)


@pytest.mark.needs_root
async def test_a_read_only_file_system_is_refused(read_only_mount: Path) -> None:
    await make_ledger(read_only_mount / "ledger.db")
    make_read_only(read_only_mount)
    assert (await refusal(read_only_mount / "ledger.db")).reason == "read-only"
    assert (await refusal(read_only_mount / "new.db")).reason == "read-only"
    assert (await refusal(read_only_mount / "new" / "new.db")).reason == "read-only"


def reason_for_somebody(path: Path) -> str:
    """Open as a user without any privilege."""
    return run_python(OPEN, str(path), "65534" if os.geteuid() == 0 else "")


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Give a folder that everybody can reach."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as top:
        Path(top).chmod(0o755)
        folder = Path(top) / "folder"
        folder.mkdir()
        yield folder
        folder.chmod(0o755)


@pytest.mark.parametrize(
    ("mode", "folder_mode", "reason"),
    [
        (0o444, 0o777, "read-only"),
        (0o666, 0o555, "read-only"),
        (0o000, 0o777, "inaccessible"),
        (0o666, 0o000, "inaccessible"),
    ],
)
def test_what_the_user_may_not_touch_is_refused(
    open_folder: Path, mode: int, folder_mode: int, reason: str
) -> None:
    ledger = open_folder / "ledger.db"
    asyncio.run(make_ledger(ledger))
    before = read(ledger)
    ledger.chmod(mode)
    open_folder.chmod(folder_mode)
    assert reason_for_somebody(ledger) == reason
    open_folder.chmod(0o755)
    ledger.chmod(0o600)
    assert names_in(open_folder) == ["ledger.db"]
    assert read(ledger) == before


def test_a_ledger_is_not_made_where_the_user_may_not(open_folder: Path) -> None:
    open_folder.chmod(0o555)
    assert reason_for_somebody(open_folder / "ledger.db") == "inaccessible"
    assert reason_for_somebody(open_folder / "more" / "ledger.db") == "inaccessible"
    assert names_in(open_folder) == []
