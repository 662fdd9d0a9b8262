"""What providers of this machine have in common: the attempt's folder, its lock and its witnesses.

A library, not a provider. Each attempt has a private folder with a lock. The agent inherits the
lock's descriptor, and so does the command: a held lock means that something of the attempt exists,
whatever a look at processes shows. Absence is proven under the lock, with a tombstone that refuses
any later start.
"""
