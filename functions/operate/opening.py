"""Opening an upload again for rows that an order opened, with a reservation for what they may cost.

Orders on different rows may do this at one instant: the upload is opened once, and every order reserves for its rows.
"""

from __future__ import annotations

from functions.clock import Clock
from functions.crash_points import reach
from functions.operate.approve import find
from functions.operate.errors import Contended
from functions.uploads.budget import budget_day
from functions.uploads.model import Upload
from functions.uploads.table import UploadsTable

_TRIES = 5


class Opening:
    """Both operations raise UnknownUpload, Contended, and what DynamoDB raises."""

    def __init__(self, table: UploadsTable, clock: Clock) -> None:
        self._table = table
        self._clock = clock

    def extend(self, upload_id: str, microusd: int, actor: str) -> int | None:
        """Of an upload that is not done, reserve before any of its rows can be asked again. Returns the revision that
        it reserved in; None: it is done."""
        for _ in range(_TRIES):
            upload = find(self._table, upload_id)
            if upload.state == "done":
                return None
            if self._reserved(upload, microusd, actor):
                return upload.revision
        raise Contended(upload_id)

    def open(self, upload_id: str, microusd: int, actor: str, *, reserved_in: int | None = None) -> None:
        """Open an upload that is done; the rows of one that runs are published by its sweep, or as it is resumed.

        `reserved_in`: what its rows may cost was reserved already in this revision; its end would have settled that.
        """
        for _ in range(_TRIES):
            upload = find(self._table, upload_id)
            if upload.state == "done":
                # Refused where another order opens it: then its pass, or the sweep behind it, takes these rows along.
                settled = self._reopened(upload, microusd, actor)
            else:
                settled = upload.revision == reserved_in or self._reserved(upload, microusd, actor)
            if settled:
                return
        raise Contended(upload_id)

    def _reserved(self, upload: Upload, microusd: int, actor: str) -> bool:
        reach("operate.extend.before")
        extended = self._table.extend(upload, actor=actor, day=budget_day(self._clock()), reserve_microusd=microusd)
        reach("operate.extend.after")
        return extended

    def _reopened(self, upload: Upload, microusd: int, actor: str) -> bool:
        reach("operate.reopen.before")
        day = budget_day(self._clock()) if microusd else ""
        reopened = self._table.reopen(upload, actor=actor, day=day, reserve_microusd=microusd, publish=True)
        reach("operate.reopen.after")
        return reopened
