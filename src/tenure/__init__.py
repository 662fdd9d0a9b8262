"""Tenure: a durable ledger of execution attempts on rented infrastructure."""

__version__ = "0.1.0"
