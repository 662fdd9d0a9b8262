"""The ledger in one SQLite file: several processes may share it, each with one writer thread.

Rules: apsw only. Nobody opens the file with another SQLite library in the same process (Python's
own ``sqlite3``, another apsw build, an ORM on either): POSIX locks belong to a process, so that one
library's close drops the other's locks, and commits are lost. No handle crosses a fork.

Theory: WAL with ``synchronous=FULL`` makes an acknowledged commit durable; one ``BEGIN IMMEDIATE``
for each batch makes the transactions serializable; readers see every acknowledged commit.
"""

from tenure.stores.sqlite.opening import open_sqlite_store
from tenure.stores.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "open_sqlite_store"]
