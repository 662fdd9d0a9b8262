"""The authority: submits work, dispatches it, waits for its end, and takes the end over.

It holds nothing that a restart may not lose: everything that it has to know is in the ledger.
"""
