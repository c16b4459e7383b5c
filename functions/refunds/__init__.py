"""Refunds: one approved action, one refund. Ledger, approval, intents, providers, reconciliation."""
