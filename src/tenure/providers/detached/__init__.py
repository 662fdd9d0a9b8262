"""Provider ``detached``: commands on this machine that survive their starter. Linux only.

Each attempt has a private folder with a lock. The agent inherits the lock's descriptor, and so does
the command: a held lock means that something of the attempt exists, whatever a look at processes
shows. Absence is proven under the lock, with a tombstone that refuses any later start.
"""

from tenure.providers.detached.provider import DetachedProvider, open_provider

__all__ = ["DetachedProvider", "open_provider"]
