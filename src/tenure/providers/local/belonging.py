"""Tell whether a process is of an attempt, by what it carries and never by who says so.

A file that names a process is a claim, which anybody who can write the file may have made. Who was
started for the attempt carries its mark in the environment, or the lock among the descriptors.
"""

import re
from collections.abc import Callable
from enum import Enum
from pathlib import Path
from typing import Final

from tenure.machine.inheritor import inherits_lock
from tenure.machine.lock import FileInode
from tenure.machine.process import ProcessIdentity
from tenure.machine.scan import bears_environment
from tenure.wire import attempt_folder

_MARK: Final = re.compile(r"[0-9a-f]{12}-[0-9a-f]{24}")


class Belonging(Enum):
    """Whose a living process is."""

    OURS = "it carries the mark or inherited the lock"
    STRANGER = "it does neither"
    UNKNOWN = "it cannot be read, or has just ended"


def belonging(process: ProcessIdentity, *, mark: str, lock: FileInode | None) -> Belonging:
    """Look at a living process.

    Raises:
        OSError: the host cannot be read.
    """
    is_marked = bears_environment(process, attempt_folder.MARK_VARIABLE, mark)
    if is_marked:
        return Belonging.OURS
    is_heir = False if lock is None else inherits_lock(process, lock, is_name=is_lock_of(mark))
    if is_heir:
        return Belonging.OURS
    is_stranger = is_marked is False and is_heir is False
    return Belonging.STRANGER if is_stranger else Belonging.UNKNOWN


def is_lock_of(mark: str) -> Callable[[Path], bool]:
    """Make the test whether a path can be that of the mark's lock, wherever its folder is now.

    The number of a deleted file is given to other files, as to the lock of another attempt: that
    one lies in a folder that is named by another mark.
    """

    def is_its(path: Path) -> bool:
        folder = path.parent.name
        return path.name == attempt_folder.LOCK_FILE and (
            folder == mark or _MARK.fullmatch(folder) is None
        )

    return is_its
