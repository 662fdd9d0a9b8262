"""Remediation: working off what is still owed. Start with ``plan``, the table of what to do.

A pass lists what is due, takes each piece over, observes it, plans, acts, records, and hands it
off. Nothing is kept in memory: a pass that is cut anywhere is resumed from the ledger alone.
"""
