import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tenure.machine.durable import make_private_folder, remove_durably, write_durably

Calls = list[str]


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    seen: Calls = []

    def watch(name: str) -> None:
        real: Callable[..., object] = getattr(os, name)

        def called(*args: object, **kwargs: object) -> object:
            kind = ""
            if name == "fsync":
                target = Path(f"/proc/self/fd/{args[0]}").readlink()
                kind = " folder" if target.is_dir() else " file"
            seen.append(name + kind)
            return real(*args, **kwargs)

        monkeypatch.setattr(os, name, called)

    for name in ("fsync", "rename", "unlink"):
        watch(name)
    return seen


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_synced_before_it_is_named_and_the_name_after(
    tmp_path: Path, calls: Calls
) -> None:
    write_durably(tmp_path / "a", b"new")
    assert calls == ["fsync file", "rename", "fsync folder"]


def test_a_file_is_replaced_as_a_whole(tmp_path: Path) -> None:
    path = tmp_path / ("n" * 255)
    write_durably(path, b"old")
    with path.open("rb") as reader:
        write_durably(path, b"x" * 3_000_000)
        assert reader.read() == b"old"
    assert path.stat().st_size == 3_000_000
    assert names(tmp_path) == [path.name]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o400])
def test_the_mode_is_exact_whatever_the_umask(tmp_path: Path, mode: int) -> None:
    umask = os.umask(0o777)
    try:
        write_durably(tmp_path / "a", b"", mode)
    finally:
        os.umask(umask)
    assert (tmp_path / "a").stat().st_mode & 0o7777 == mode


def test_a_symbolic_link_is_replaced_and_not_followed(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"untouched")
    (tmp_path / "a").symlink_to("target")
    write_durably(tmp_path / "a", b"new")
    assert (tmp_path / "target").read_bytes() == b"untouched"
    assert not (tmp_path / "a").is_symlink()


@pytest.mark.parametrize("failing", ["fsync", "rename", "write"])
def test_a_failure_leaves_the_old_file_and_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failing: str
) -> None:
    write_durably(tmp_path / "a", b"old")

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, failing, fail)
        with pytest.raises(OSError, match="no space"):
            write_durably(tmp_path / "a", b"new")
    assert (tmp_path / "a").read_bytes() == b"old"
    assert names(tmp_path) == ["a"]


def test_a_short_write_is_continued(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:3]))
    write_durably(tmp_path / "a", b"0123456789")
    assert (tmp_path / "a").read_bytes() == b"0123456789"


def test_a_removal_is_synced(tmp_path: Path, calls: Calls) -> None:
    (tmp_path / "a").touch()
    assert remove_durably(tmp_path / "a") is True
    assert calls == ["unlink", "fsync folder"]
    assert names(tmp_path) == []


def test_a_removal_of_what_is_gone_is_synced_as_well(tmp_path: Path, calls: Calls) -> None:
    assert remove_durably(tmp_path / "a") is False
    assert calls == ["unlink", "fsync folder"]


def test_a_private_folder_is_made_for_its_owner_only(tmp_path: Path, calls: Calls) -> None:
    umask = os.umask(0o777)
    try:
        make_private_folder(tmp_path / "p")
    finally:
        os.umask(umask)
    assert (tmp_path / "p").stat().st_mode & 0o777 == 0o700
    assert calls == ["fsync folder"]
    make_private_folder(tmp_path / "p")


def test_a_symbolic_link_is_no_private_folder(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir(mode=0o700)
    (tmp_path / "p").symlink_to("real")
    with pytest.raises(PermissionError, match="it is no folder"):
        make_private_folder(tmp_path / "p")


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701])
def test_a_folder_open_to_others_is_refused_and_not_changed(tmp_path: Path, mode: int) -> None:
    folder = tmp_path / "p"
    folder.mkdir()
    folder.chmod(mode)
    with pytest.raises(PermissionError, match=f"its mode is 0{mode:o}.*chmod 700"):
        make_private_folder(folder)
    assert folder.stat().st_mode & 0o777 == mode


@pytest.mark.needs_root
def test_another_users_folder_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "p"
    folder.mkdir(mode=0o700)
    os.chown(folder, 65534, 65534)
    with pytest.raises(PermissionError, match="it belongs to uid 65534"):
        make_private_folder(folder)
