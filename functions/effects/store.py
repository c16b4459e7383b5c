"""Powertools' idempotency on the effect core: the decorator stays, every write behind it is fenced.

Stock Powertools saves and deletes unconditionally, deletes the record on any exception and takes the Lambda's
remaining time for the lease. Here its four hooks are moves of the table in `states.py`.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from aws_lambda_powertools.utilities.idempotency import BasePersistenceLayer, IdempotencyConfig
from aws_lambda_powertools.utilities.idempotency.exceptions import (
    IdempotencyItemAlreadyExistsError,
    IdempotencyItemNotFoundError,
)
from aws_lambda_powertools.utilities.idempotency.persistence.datarecord import STATUS_CONSTANTS, DataRecord

from functions.clock import Clock, wall_clock
from functions.effects.claims import Answered, Busy, Claimed, Claims
from functions.effects.errors import KeyConflictError, MissingKeyError, SharedStoreError
from functions.effects.outcomes import Outcome
from functions.effects.record import EffectRecord
from functions.effects.run import Run, current_run
from functions.effects.states import State
from functions.effects.table import EffectTable

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.service_resource import Table

BUG_AFTER_SEND = "handler_error_outcome_unknown"
BUG_BEFORE_SEND = "handler_error"


class IdempotencyDisabledError(Exception):
    """POWERTOOLS_IDEMPOTENCY_DISABLED is set: the decorator would let every duplicate through."""


def refuse_disabled_idempotency(environ: Mapping[str, str] | None = None) -> None:
    """Refuse to start where Powertools would bypass the store without a word."""
    value = (os.environ if environ is None else environ).get("POWERTOOLS_IDEMPOTENCY_DISABLED", "")
    if value.strip().lower() not in {"", "0", "false", "f", "no", "n", "off"}:
        raise IdempotencyDisabledError(
            "POWERTOOLS_IDEMPOTENCY_DISABLED is set, so every duplicate would be paid again; unset it to start"
        )


class EffectStore(BasePersistenceLayer):
    """The persistence layer of one guarded function.

    `id_of(item)` gives the record's id and `payload_hash_of(item)` the digest that a repeat must match. The guarded
    function returns `Outcome.model_dump()`; read the stored record from the run, not from the return value.
    """

    def __init__(
        self,
        table: Table,
        *,
        max_paid_attempts: int,
        retention_days: int | None,
        id_of: Callable[[Any], str],
        payload_hash_of: Callable[[Any], str],
        lease_grace_s: float = 5.0,
        clock: Clock = wall_clock,
    ) -> None:
        refuse_disabled_idempotency()
        super().__init__()  # type: ignore[no-untyped-call]  # Powertools leaves it untyped
        self._effects = EffectTable(table)
        self._claims = Claims(
            self._effects,
            max_paid_attempts=max_paid_attempts,
            retention_days=retention_days,
            lease_grace_s=lease_grace_s,
            clock=clock,
        )
        self._id_of = id_of
        self._payload_hash_of = payload_hash_of
        self._guards: str | None = None

    def read(self, effect_id: str) -> EffectRecord | None:
        """The record as it is stored now (strongly consistent)."""
        return self._effects.read(effect_id)

    def give_up(self, effect_id: str, payload_hash: str, reason: str, origin: str) -> EffectRecord:
        """See `Claims.give_up`."""
        return self._claims.give_up(effect_id, payload_hash, reason, origin)

    # --- Powertools' interface -------------------------------------------------------------------------------------

    def configure(
        self, config: IdempotencyConfig, function_name: str | None = None, key_prefix: str | None = None
    ) -> None:
        # Powertools silently ignores the second function's configuration; here the second function is refused.
        guarded = function_name or ""
        if self._guards not in {None, guarded}:
            raise SharedStoreError(f"this store guards {self._guards}; give {guarded} a store of its own")
        self._guards = guarded
        super().configure(config, function_name, key_prefix)

    def _get_hashed_idempotency_key(self, data: dict[str, Any]) -> str | None:
        # Neither a function's name nor a module's path is part of identity, so intake can compute the same id.
        effect_id = self._id_of(data)
        if not effect_id:
            raise MissingKeyError("this item has no key; nothing was run")
        return effect_id

    def _get_hashed_payload(self, data: dict[str, Any]) -> str:
        return self._payload_hash_of(data)

    def _put_record(self, data_record: DataRecord) -> None:
        run = current_run()
        result = self._claim(data_record.idempotency_key, data_record.payload_hash, run)
        run.record = result.record
        match result:
            case Claimed(record):
                run.attempt = record.attempt
            case Busy(record):
                run.lease_until = record.lease_until
                raise IdempotencyItemAlreadyExistsError(old_data_record=_in_progress(record))
            case Answered(record):
                raise IdempotencyItemAlreadyExistsError(old_data_record=_completed(record))

    def _get_record(self, idempotency_key: str) -> DataRecord:
        record = self._effects.read(idempotency_key)
        if record is None:
            raise IdempotencyItemNotFoundError
        return _in_progress(record) if record.state is State.CLAIMED else _completed(record)

    def _update_record(self, data_record: DataRecord) -> None:
        outcome = Outcome.model_validate(json.loads(data_record.response_data))
        self._settle(data_record.idempotency_key, outcome)

    def _delete_record(self, data_record: DataRecord) -> None:
        # Powertools deletes when the function raised. Nothing is ever deleted here: before the send the attempt is
        # released, after it the outcome is in doubt.
        sent = current_run().sent
        self._settle(
            data_record.idempotency_key,
            Outcome.unknown(BUG_AFTER_SEND) if sent else Outcome.released(BUG_BEFORE_SEND),
        )

    def _claim(self, effect_id: str, payload_hash: str, run: Run) -> Claimed | Answered | Busy:
        try:
            return self._claims.claim(effect_id, payload_hash, run)
        except KeyConflictError:
            raise
        except Exception:
            # The claim may be stored and its answer lost, however often boto3 asked. Where this fails too, the lease
            # says so in the end: then an attempt is in doubt that never was.
            with suppress(Exception):
                run.record = self._claims.withdraw(effect_id, run)
            raise

    def _settle(self, effect_id: str, outcome: Outcome) -> None:
        run = current_run()
        run.record = self._claims.settle(effect_id, run, outcome)


def _in_progress(record: EffectRecord) -> DataRecord:
    # No expiry of its own: whether the lease is over was decided by the core, with its clock.
    return DataRecord(idempotency_key=record.id, status=STATUS_CONSTANTS["INPROGRESS"])


def _completed(record: EffectRecord) -> DataRecord:
    return DataRecord(
        idempotency_key=record.id,
        status=STATUS_CONSTANTS["COMPLETED"],
        response_data=record.reply_json(),
        payload_hash=record.payload_hash,
    )
