"""The day's budget: what is committed (reserved or spent) on one UTC day, never more than the ceiling."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from functions.uploads.keys import budget_address
from functions.uploads.model import Budget, RowCounts, Upload
from functions.uploads.plumbing import ItemsTable


@dataclass(frozen=True)
class Ceilings:
    """In micro-dollars, for the worst case of one upload and of all uploads of a UTC day; None: no ceiling."""

    upload_microusd: int | None = None
    day_microusd: int | None = None


def budget_day(now: float) -> str:
    """The UTC day that a reservation made at `now` counts on."""
    return datetime.fromtimestamp(now, UTC).strftime("%Y-%m-%d")


class BudgetTable(ItemsTable):
    """BUDGET items."""

    def get_budget(self, day: str) -> Budget:
        return Budget.from_item(self._get("uploads.get_budget", budget_address(day)) or {})

    def _reservation(self, day: str, microusd: int, ceiling: int | None) -> dict[str, dict[str, Any]]:
        """The write that commits `microusd` on `day`; refused where the ceiling would be exceeded."""
        update: dict[str, Any] = {
            "Key": budget_address(day),
            "UpdateExpression": "ADD committed_microusd :more",
            "ExpressionAttributeValues": {":more": microusd},
        }
        if ceiling is not None:
            # Compared and added in one write: uploads admitted at once cannot overshoot together.
            update["ConditionExpression"] = (
                "committed_microusd <= :most OR (attribute_not_exists(committed_microusd) AND :none <= :most)"
            )
            update["ExpressionAttributeValues"] |= {":most": ceiling - microusd, ":none": 0}
        return {"Update": update}

    def _settlement(self, upload: Upload, rows: RowCounts) -> list[dict[str, dict[str, Any]]]:
        """The write that turns an upload's reservation into what it cost since its last settlement, and what may have
        been billed besides. A doubt that is lifted frees nothing: it may have been committed on another day.
        """
        if not upload.budget_day:
            return []
        spent = max(0, rows.cost_microusd - upload.rows.cost_microusd)
        in_doubt = max(0, rows.in_doubt_microusd - upload.rows.in_doubt_microusd)
        return [
            {
                "Update": {
                    "Key": budget_address(upload.budget_day),
                    "UpdateExpression": "ADD committed_microusd :back, spent_microusd :spent",
                    "ExpressionAttributeValues": {
                        ":back": spent + in_doubt - upload.reserved_microusd,
                        ":spent": spent,
                    },
                }
            }
        ]
