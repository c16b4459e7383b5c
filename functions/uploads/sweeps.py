"""What the sweep remembers from tick to tick: SWEEP items. A lost one costs work done twice, never a row."""

from __future__ import annotations

from typing import Any, Literal

from boto3.dynamodb.conditions import Attr, Key
from pydantic import BaseModel, ConfigDict

from functions.crash_points import crossing
from functions.uploads.model import ATTENTION, ATTENTION_INDEX, AttentionRow, Upload
from functions.uploads.plumbing import ItemsTable

RoundName = Literal["objects", "attention"]
WalkMode = Literal["settles", "publishes", "gives_up"]
_QUEUE = "queue"


class Walk(BaseModel):
    """One walk over the rows of an upload without an item, in a generation of its publishing.

    Every such row up to `position` was dealt with. `mode`: it only settles what is stored; it publishes rows again,
    as the generation that it began; or it gives up what has no outcome. `resumes` are the upload's: what an operator
    ordered since is not for a walk that began before.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    generation: int
    resumes: int = 0
    position: int = 0
    mode: WalkMode = "settles"
    ended: bool = False


class SweepsTable(ItemsTable):
    """SWEEP items of the `prospects` table, and the pages of its index of rows whose outcome may still change."""

    # --- walks over uploads ----------------------------------------------------------------------------------------

    def unfinished_walk(self, upload: Upload) -> Walk | None:
        """The walk to go on with; None: the last one ended, or there was none in this generation."""
        item = self._get("uploads.unfinished_walk", _address(upload.upload_id))
        walk = Walk.model_validate(item) if item else None
        if walk is None or walk.generation != upload.generation:
            # Only the sweep begins a generation with `sweeps` counted: it was killed before it could note so.
            begun = Walk(generation=upload.generation, resumes=upload.resumes, mode="publishes")
            return begun if upload.sweeps else None
        return None if walk.ended or walk.resumes != upload.resumes else walk

    def note_walk(self, upload_id: str, walk: Walk) -> None:
        """Only the tick that holds the upload's look writes it."""
        item = {**_address(upload_id), **walk.model_dump(), **self._expiry(int(self._clock()))}
        with crossing("uploads.note_walk"):
            self._client.put_item(TableName=self._name, Item=item)

    # --- rounds over everything ------------------------------------------------------------------------------------

    def claim_round(self, name: RoundName, until: int) -> dict[str, Any] | None:
        """Be the only tick at this round until then; where the last one stopped. None: not due, or another is at it."""
        due = Attr("next_at").not_exists() | Attr("next_at").lte(int(self._clock()))
        item = self._try_update("uploads.claim_round", _address(name), {"next_at": until}, due)
        return None if item is None else item.get("position", {})

    def leave_round(self, name: RoundName, until: int, *, next_at: int, position: dict[str, Any]) -> None:
        """End a claim; the round goes on behind `position` then, or, without one, begins anew."""
        left = {"next_at": next_at, "position": position}
        self._try_update("uploads.leave_round", _address(name), left, Attr("next_at").eq(until))

    def begin_anew(self, name: RoundName) -> None:
        """Have the next tick begin this round, from the start: there is something that it will find.

        A tick that is at it ends as it would have; two at once cost work done twice.
        """
        self._try_update("uploads.begin_anew", _address(name), {"next_at": 0, "position": {}}, Attr("next_at").exists())

    def attention_page(self, start: dict[str, Any]) -> tuple[list[AttentionRow], dict[str, Any]]:
        """A page of the rows whose outcome could still change, and where the next begins (empty: that was the last).

        Eventually consistent, as every such index.
        """
        behind = {"ExclusiveStartKey": start} if start else {}
        condition = Key(ATTENTION).eq(ATTENTION)
        with crossing("uploads.attention_page"):
            page = self._client.query(
                TableName=self._name, IndexName=ATTENTION_INDEX, KeyConditionExpression=condition, **behind
            )
        return [AttentionRow.from_item(item) for item in page["Items"]], page.get("LastEvaluatedKey", {})

    # --- the work queue --------------------------------------------------------------------------------------------

    def queue_empty_since(self, *, empty: bool) -> int | None:
        """Note what was seen of the queue now; since when every look has found it empty (seconds since the epoch)."""
        item = self._get("uploads.queue_seen", _address(_QUEUE)) or {}
        since = int(item.get("empty_since", 0))
        if empty and since:
            return since
        now = int(self._clock()) if empty else 0
        if now != since:
            seen = Attr("empty_since").not_exists() | Attr("empty_since").eq(since)
            self._try_update("uploads.note_queue", _address(_QUEUE), {"empty_since": now}, seen)
        return now or None


def _address(name: str) -> dict[str, str]:
    return {"pk": "SWEEP", "sk": name}
