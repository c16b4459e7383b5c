"""The `prospects` table: the life of an upload. Every write is conditional; a repeat is harmless.

Object versions, rows, what is open and the day's budget have modules of their own, which this one joins.
"""

from __future__ import annotations

from typing import Any, Literal

from boto3.dynamodb.conditions import Attr, ConditionBase

from functions.transactions import TransactionRefusedError
from functions.uploads.budget import BudgetTable, Ceilings
from functions.uploads.keys import meta_address, object_address, open_address
from functions.uploads.model import Announcement, Finished, OpenUpload, Upload
from functions.uploads.objects import UNSETTLED_EXPRESSION, ObjectsTable
from functions.uploads.open import OpenTable
from functions.uploads.rows import RowsTable

AdmitResult = Literal["admitted", "exists", "over_budget"]
_FALSE = False


class UploadsTable(ObjectsTable, RowsTable, OpenTable, BudgetTable):
    """Uploads in the `prospects` table. `table` is boto3's Table resource."""

    def get_upload(self, upload_id: str, *, consistent: bool = True) -> Upload | None:
        item = self._get("uploads.get_upload", meta_address(upload_id), consistent=consistent)
        return Upload.from_item(item) if item else None

    def admit(self, upload: Upload, ceilings: Ceilings = Ceilings()) -> AdmitResult:  # noqa: B008 - it is frozen
        """Write META, OPEN, the object's settlement and, for one that runs, its reservation, in one transaction.

        "exists": META or the settlement was there. "over_budget": the day's ceiling would be exceeded; nothing was
        written, and the caller admits it again as `needs_approval`, which reserves nothing.
        """
        announcement = _told(upload, "needs_approval") if upload.state == "needs_approval" else None
        opened = OpenUpload(upload_id=upload.upload_id, announcement=announcement).to_item()
        settled = self._update_request({"upload_id": upload.upload_id, "first": True}, UNSETTLED_EXPRESSION)
        meta = {**meta_address(upload.upload_id), **upload.to_item(), **self._kept_from(upload.created_at)}
        writes: list[dict[str, dict[str, Any]]] = [
            {"Put": {"Item": meta, "ConditionExpression": "attribute_not_exists(pk)"}},
            {"Put": {"Item": {**open_address(upload.upload_id), **opened}}},
            {"Update": {"Key": object_address(upload.object_key, upload.version_id), **settled}},
        ]
        if upload.state == "running" and upload.budget_day:
            writes.append(self._reservation(upload.budget_day, upload.worst_case_microusd, ceilings.day_microusd))
        try:
            self._transact("uploads.admit", *writes)
        except TransactionRefusedError as refused:
            return "over_budget" if refused.places == {len(writes) - 1} and len(writes) > 3 else "exists"
        return "admitted"

    # --- publishing ------------------------------------------------------------------------------------------------

    def take_publishing(self, upload_id: str, generation: int, *, now: int, until: int) -> Upload | None:
        """Become the publisher until `until`. None: not running, published, another generation, or another is alive."""
        condition = (
            Attr("state").eq("running")
            & Attr("generation").eq(generation)
            & Attr("published").eq(_FALSE)
            & Attr("publisher_until").lt(now)
        )
        return self._update_upload("uploads.take_publishing", upload_id, {"publisher_until": until}, condition)

    def advance_checkpoint(self, upload_id: str, generation: int, checkpoint: int) -> Upload | None:
        """Move the checkpoint forward, never back. None: no longer running, another generation, or it was further."""
        condition = Attr("state").eq("running") & Attr("generation").eq(generation) & Attr("checkpoint").lt(checkpoint)
        return self._update_upload("uploads.advance_checkpoint", upload_id, {"checkpoint": checkpoint}, condition)

    def leave_publishing(self, upload_id: str, generation: int, *, published: bool) -> Upload | None:
        """Stop being the publisher; with `published`, for good in this generation."""
        return self._update_upload(
            "uploads.leave_publishing",
            upload_id,
            {"publisher_until": 0, "published": published},
            Attr("generation").eq(generation) & Attr("published").eq(_FALSE),
        )

    def begin_sweep_pass(self, upload: Upload, *, max_sweeps: int) -> Upload | None:
        """Raise the generation for rows that are to be published once more. None: it is not running, its last pass
        has not reached its end, somebody else began one, or there were `max_sweeps` since an operator's last order."""
        condition = (
            Attr("state").eq("running")
            & Attr("generation").eq(upload.generation)
            & Attr("published").eq(True)  # noqa: FBT003
            & Attr("sweeps").lt(max_sweeps)
        )
        begun = {"generation": upload.generation + 1, "sweeps": upload.sweeps + 1}
        return self._update_upload("uploads.begin_sweep_pass", upload.upload_id, begun, condition)

    # --- the states ------------------------------------------------------------------------------------------------

    def approve(self, upload: Upload, *, actor: str, day: str) -> bool:
        """Let an upload over the ceiling run; its worst case is reserved on that day. False: it is not waiting."""
        now = int(self._clock())
        run = self._update_request(
            {
                "state": "running",
                "budget_day": day,
                "reserved_microusd": upload.worst_case_microusd,
                "approved_by": actor,
                "approved_at": now,
                "publisher_until": 0,
            },
            "#state = :waiting",
        )
        run["ExpressionAttributeValues"] |= {":waiting": "needs_approval"}
        # An operator's order is not stopped by the ceiling that asked for it, but counts against it.
        reserved = self._reservation(day, upload.worst_case_microusd, None)
        meta = {"Update": {"Key": meta_address(upload.upload_id), **run}}
        return self._try_transact("uploads.approve", meta, reserved, self._look_now(upload.upload_id))

    def pause(self, upload: Upload, reason: str) -> bool:
        """Pause an upload for a reason that is no row's fault, and put that into the outbox, in one transaction.

        False: it is not running, or was resumed since it was read: the reason may be mended. So one of many workers
        pauses it, and it is told once.
        """
        paused = self._update_request(
            {"state": "paused", "pause_reason": reason, "paused_at": int(self._clock())},
            "#state = :running AND resumes = :resumes",
        )
        paused["ExpressionAttributeValues"] |= {":running": "running", ":resumes": upload.resumes}
        told = _told(upload, "paused").to_item()
        outbox = self._update_request({"announcement": told, "next_look_at": 0}, "attribute_exists(pk)")
        return self._try_transact(
            "uploads.pause",
            {"Update": {"Key": meta_address(upload.upload_id), **paused}},
            {"Update": {"Key": open_address(upload.upload_id), **outbox}},
        )

    def resume(self, upload: Upload, *, actor: str) -> bool:
        """Let a paused upload go on: a new pass publishes what has no answer yet. False: it is not paused."""
        run = self._update_request(
            {**_new_pass(upload), "state": "running", "resumes": upload.resumes + 1, "resumed_by": actor},
            "#state = :paused AND #generation = :seen",
        )
        run["ExpressionAttributeValues"] |= {":paused": "paused", ":seen": upload.generation}
        meta = {"Update": {"Key": meta_address(upload.upload_id), **run}}
        return self._try_transact("uploads.resume", meta, self._look_now(upload.upload_id))

    def reopen(self, upload: Upload, *, actor: str, day: str, reserve_microusd: int, publish: bool) -> bool:
        """Open a finished upload again: rows were reopened or their outcome changed. False: it is not done, or its end
        is still to be told, which the next tick does.

        `publish`: a new pass publishes rows without an answer; otherwise only its results are made anew.
        """
        changes: dict[str, Any] = {
            "state": "running",
            "resumes": upload.resumes + 1,
            "reopened_by": actor,
            "budget_day": day,
            "reserved_microusd": reserve_microusd,
        }
        again = self._update_request(
            changes | (_new_pass(upload) if publish else {}),
            "#state = :done AND revision = :seen",
            remove=("expires_at",),
        )
        again["ExpressionAttributeValues"] |= {":done": "done", ":seen": upload.revision}
        opened = OpenUpload(upload_id=upload.upload_id).to_item()
        return self._try_transact(
            "uploads.reopen",
            {"Update": {"Key": meta_address(upload.upload_id), **again}},
            # What is still to be told is never written over.
            {
                "Put": {
                    "Item": {**open_address(upload.upload_id), **opened},
                    "ConditionExpression": "attribute_not_exists(announcement)",
                }
            },
            *([self._reservation(day, reserve_microusd, None)] if reserve_microusd else []),
        )

    def extend(self, upload: Upload, *, actor: str, day: str, reserve_microusd: int) -> bool:
        """Reserve more for an upload that is not done, of which an operator has rows asked once more. False: it is
        done, or somebody else was faster.

        A look that counted its rows before that cannot finish it, and the sweep may publish as often as for any order.
        """
        counted_on = upload.budget_day or day
        more = self._update_request(
            {"budget_day": counted_on, "sweeps": 0, "extended_by": actor},
            "#state IN (:running, :paused) AND #budget_day = :seen",
            add={"reserved_microusd": reserve_microusd, "resumes": 1},
        )
        more["ExpressionAttributeNames"]["#state"] = "state"
        more["ExpressionAttributeValues"] |= {":running": "running", ":paused": "paused", ":seen": upload.budget_day}
        meta = {"Update": {"Key": meta_address(upload.upload_id), **more}}
        return self._try_transact("uploads.extend", meta, self._reservation(counted_on, reserve_microusd, None))

    def finish(self, upload: Upload, finished: Finished, announcement: Announcement) -> bool:
        """Set `done` with its counts and results, settle its reservation and put its announcement into the outbox, in
        one transaction. False: it is no longer running in the revision that was read.
        """
        done = self._update_request(
            {"state": "done", "revision": upload.revision + 1, "reserved_microusd": 0, **finished.to_item()},
            "#state = :running AND #revision = :seen AND resumes = :resumes",
        )
        done["ExpressionAttributeValues"] |= {
            ":running": "running",
            ":seen": upload.revision,
            ":resumes": upload.resumes,
        }
        outbox = self._update_request({"announcement": announcement.to_item()}, "attribute_exists(pk)")
        return self._try_transact(
            "uploads.finish",
            {"Update": {"Key": meta_address(upload.upload_id), **done}},
            {"Update": {"Key": open_address(upload.upload_id), **outbox}},
            *self._settlement(upload, finished.rows),
        )

    def _look_now(self, upload_id: str) -> dict[str, dict[str, Any]]:
        due = self._update_request({"next_look_at": 0}, "attribute_exists(pk)")
        return {"Update": {"Key": open_address(upload_id), **due}}

    def _update_upload(
        self, operation: str, upload_id: str, values: dict[str, Any], condition: ConditionBase
    ) -> Upload | None:
        item = self._try_update(operation, meta_address(upload_id), values, condition)
        return Upload.from_item(item) if item else None


def _new_pass(upload: Upload) -> dict[str, Any]:
    return {
        "generation": upload.generation + 1,
        "checkpoint": 0,
        "published": False,
        "publisher_until": 0,
        # The bound on sweeps is per order of an operator.
        "sweeps": 0,
    }


def _told(upload: Upload, kind: Literal["paused", "needs_approval"]) -> Announcement:
    return Announcement(kind=kind, serial=f"{kind}-{upload.resumes}")
