"""The operators' use cases over a cloud: where their tables are, under which settings, and on whose order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from cli.finding import Finder
from cli.target import Target
from functions.classify.task import Task
from functions.clock import wall_clock
from functions.effects.resolve import Resolver
from functions.effects.table import EffectTable
from functions.finish.rows import OpenSource, RowResult, read_rows
from functions.finish.storage import source_of
from functions.intake.pricing import Pricing
from functions.intake.questions import Questions
from functions.operate.approve import Plan, approve, plan
from functions.operate.audit import Audit, audit_key, audit_row
from functions.operate.failures import Failure, failures
from functions.operate.resolve import Resolve
from functions.operate.resolve_plans import ResolvePlans
from functions.operate.resume import Resumed, resume
from functions.operate.retry import Retried, Retry
from functions.settings import Environment
from functions.uploads.budget import budget_day
from functions.uploads.model import Upload
from functions.uploads.sweeps import SweepsTable


class _Deployed(Environment):
    """What the commands must know of the deployed settings; they stand in the intake function's environment."""

    max_paid_attempts: int = 1
    max_upload_microusd: int = 0
    max_day_microusd: int = 0


class _DeployedStore(Environment):
    """What they must know to end a record as classify would; it stands in that function's environment."""

    outcome_retention_days: int


@dataclass(frozen=True, slots=True)
class Price:
    """What a plan costs at most, and what is left of the day's ceiling before it (None: there is no ceiling).

    In integer micro-dollars. An order is not stopped by the ceiling, but counts against it. `upload_ceiling_microusd`
    is told of an upload that waits for approval, and is None for other plans or where there is none.
    """

    worst_case_microusd: int
    left_today_microusd: int | None
    upload_ceiling_microusd: int | None = None


@dataclass(frozen=True, slots=True)
class RetryPlan:
    """`rows` would be opened again; their price leaves out that some may be answered by now."""

    upload_id: str
    rows: int
    price: Price


class Operator:
    """Orders on one cloud, given by the caller of the command."""

    def __init__(self, target: Target) -> None:
        self.finder = Finder(target.cloud)
        self._target = target
        self._effects = EffectTable(self._table("IdempotencyTableName"))
        self._open_source: OpenSource = source_of(self.finder.s3)

    def approval(self, upload: Upload) -> tuple[Plan, Price]:
        price = self.price(upload.worst_case_microusd)
        return plan(upload), replace(price, upload_ceiling_microusd=self._settings.max_upload_microusd or None)

    def approve(self, upload: Upload) -> Plan:
        """Raises OperateError; so do all orders."""
        return approve(self.finder.table, upload.upload_id, actor=self._target.actor)

    def resume(self, upload: Upload) -> Resumed:
        return resume(self.finder.table, upload.upload_id, actor=self._target.actor)

    def failures(self, upload: Upload) -> Iterator[Failure]:
        return failures(upload, self._open_source, self.finder.table)

    def retry_plan(self, upload: Upload) -> RetryPlan:
        """What a retry of a finished upload would open again, from its rows; nothing is changed."""
        task = Task.from_json(upload.task)
        questions, pricing, rows = Questions(task), Pricing(task, self._settings.max_paid_attempts), 0
        for result in read_rows(upload, self._open_source, self.finder.table):
            if _is_retryable(result):
                rows += 1
                pricing.add([questions.of(result.record)], {})
        return RetryPlan(upload.upload_id, rows, self.price(pricing.worst_case_microusd))

    def retry(self, upload: Upload, reason: str) -> Retried:
        return Retry(
            table=self.finder.table,
            effects=self._effects,
            resolver=Resolver(self._effects, retention_days=None),
            open_source=self._open_source,
            max_paid_attempts=self._settings.max_paid_attempts,
        ).retry(upload.upload_id, actor=self._target.actor, reason=reason)

    @cached_property
    def resolve(self) -> Resolve:
        """The order to settle what is unknown; also plans and lists it."""
        retention_days = _DeployedStore.from_env(self._environment("ClassifyFunctionName")).outcome_retention_days
        plans = ResolvePlans(
            table=self.finder.table,
            effects=self._effects,
            open_source=self._open_source,
            max_paid_attempts=self._settings.max_paid_attempts,
        )
        return Resolve(
            plans=plans,
            table=self.finder.table,
            sweeps=SweepsTable(self._table("ProspectsTableName")),
            effects=self._effects,
            resolver=Resolver(self._effects, retention_days=retention_days),
        )

    @property
    def actor(self) -> str:
        return self._target.actor

    def audit_key(self, key: str) -> Audit:
        return audit_key(self._effects, key)

    def audit_row(self, upload: Upload, row: int) -> Audit:
        return audit_row(self.finder.table, self._effects, self._open_source, upload.upload_id, row)

    def price(self, worst_case_microusd: int) -> Price:
        ceiling = self._settings.max_day_microusd
        committed = self.finder.table.get_budget(budget_day(wall_clock())).committed_microusd
        return Price(worst_case_microusd, max(0, ceiling - committed) if ceiling else None)

    def _table(self, output: str) -> Any:
        return self._target.cloud.resource("dynamodb").Table(self._target.cloud.outputs[output])

    @cached_property
    def _settings(self) -> _Deployed:
        return _Deployed.from_env(self._environment("IntakeFunctionName"))

    def _environment(self, output: str) -> Mapping[str, str]:
        function = self._target.cloud.outputs[output]
        found = self._target.cloud.client("lambda").get_function_configuration(FunctionName=function)
        variables: Mapping[str, str] = found.get("Environment", {}).get("Variables", {})
        return variables


def _is_retryable(result: RowResult) -> bool:
    # An open row of an upload that is done was opened by a retry that did not get to its end.
    item = result.item
    return result.outcome == "open" or (item is not None and item.outcome == "failed" and item.retryable)
