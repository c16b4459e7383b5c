"""Every exception of the effect core, with the reason it exists.

IdempotencyValidationError (Powertools)
  └─ KeyConflictError      unwrapped by Powertools only because of this base
IdempotencyKeyError (Powertools)
  └─ MissingKeyError       likewise
EffectStoreError
  ├─ SharedStoreError      one store guards one function
  ├─ NoRunError            a guarded call outside `new_run`
  ├─ MoveRefusedError      an operator's move that the table does not allow now
  └─ UnsettledClaimError   others moved the record faster than it could be read
"""

from __future__ import annotations

from aws_lambda_powertools.utilities.idempotency.exceptions import IdempotencyKeyError, IdempotencyValidationError


class KeyConflictError(IdempotencyValidationError):
    """The same key with another payload: two different effects claim one identity. Nothing was changed."""


class MissingKeyError(IdempotencyKeyError):
    """There is no key, so the effect would share a record with every other one without a key. Nothing was run."""


class EffectStoreError(Exception):
    """Base of the core's own errors."""


class SharedStoreError(EffectStoreError):
    """Two functions on one store would answer each other's duplicates."""


class NoRunError(EffectStoreError):
    """A guarded function was called outside `new_run`, so there is no owner to fence its writes with."""


class MoveRefusedError(EffectStoreError):
    """The record is in a state (or held by a lease) in which this move does not exist. Nothing was changed."""


class UnsettledClaimError(EffectStoreError):
    """The record changed under every look at it; come back later."""
