"""The steps of the walk, in their order; each tells what happens and why, shows it, and checks it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from examples.walk.files import BUSY, CALLS, LOCKED, MANY, RECEIVES, REFUND
from examples.walk.stage import PATIENCE_S, Stage, WalkError

_LOOK_S = 0.01


def over_the_ceiling(stage: Stage) -> None:
    """An upload that costs more than it may waits for somebody who says yes."""
    stage.say(
        f"calls.csv has {CALLS} rows with whole transcripts. A file is priced before anything of it is sent; at worst"
    )
    stage.say("this one costs more than an upload may (max_upload_microusd above), so it waits.")
    stage.run("upload", "calls.csv", "--watch", ends_with=1)
    stage.wait("the notice", lambda: bool(stage.notices("calls.csv", "Prospects need approval")))
    stage.say("", "Whoever looks after the uploads is told once, by e-mail; here it is kept.")
    stage.run("local", "outbox")
    stage.check("model requests so far", stage.requests, 0)
    stage.say("", "The price is shown before anything runs; without --yes it would ask.")
    stage.run("approve", "calls.csv", "--yes")
    stage.run("status", "calls.csv")
    stage.wait_until_done("calls.csv")
    stage.say("", "A little later:")
    stage.run("status", "calls.csv")
    stage.run("results", "calls.csv")
    stage.check("model requests for its rows", stage.requests, CALLS)
    stage.check("notices that it needs approval", len(stage.notices("calls.csv", "Prospects need approval")), 1)


def wrong_key(stage: Stage) -> None:
    """A key that is refused stops the upload, not each of its rows."""
    requests, billed = stage.requests, stage.billed
    stage.say("The model answers 401: the key is wrong. No row is at fault, so the whole upload pauses.")
    stage.run("upload", "locked.csv", "--watch", ends_with=1)
    stage.wait("the notice", lambda: bool(stage.notices("locked.csv", "Prospects paused")))
    stage.say("", "One notice for the upload, not one a row, and no row is in a dead-letter queue.")
    stage.run("local", "outbox", "--last", "1")
    stage.check("notices that it is paused", len(stage.notices("locked.csv", "Prospects")), 1)
    stage.check("dead letters", stage.dead_letters, 0)
    stage.say("", "The key is valid again (the script refuses one request only), so it may go on.")
    stage.run("resume", "locked.csv")
    ended = stage.wait_until_done("locked.csv")
    stage.run("status", "locked.csv")
    stage.check("rows classified", ended.classified, LOCKED)
    stage.check("requests that were refused, unbilled", stage.requests - requests - (stage.billed - billed), 1)
    stage.check("requests that were billed, one a row", stage.billed - billed, LOCKED)
    stage.check("notices that it was paused", len(stage.notices("locked.csv", "Prospects paused")), 1)
    stage.check("dead letters", stage.dead_letters, 0)


def killed_intake(stage: Stage) -> None:
    """A process that dies in the middle of publishing rows leaves them to the sweep."""
    requests = stage.requests
    stage.say(f"The handler that reads many.csv and publishes its {MANY} rows is killed on the way.")
    stage.show("prospects upload many.csv")
    uploading = stage.start("upload", "many.csv")
    killed, at = _kill_publisher(stage)
    stage.ended(uploading)
    stage.show(f"kill -9 {' '.join(map(str, killed))}    # the intake handler, at record {at} of {MANY}")
    stage.run("status", "many.csv")
    stage.say("", "Nobody does anything. When the handler's time would have been up, the tick has another one go on.")
    ended = stage.wait_until_done("many.csv")
    stage.run("status", "many.csv")
    stage.check("rows classified", ended.classified, MANY)
    stage.check("model requests, one a row", stage.requests - requests, MANY)


def overloaded(stage: Stage) -> None:
    """Rows that failed without a bill can be asked again."""
    requests, billed = stage.requests, stage.billed
    stage.say(
        f"For the rows of busy.csv the model is overloaded (529); after {RECEIVES} tries each of them has failed."
    )
    stage.run("upload", "busy.csv", "--watch")
    stage.say("", "Why, and what to do:")
    stage.run("failures", "busy.csv")
    stage.check("rows failed", stage.wait_until_done("busy.csv").failed, BUSY)
    stage.check("requests that were refused, unbilled", stage.requests - requests, BUSY * RECEIVES)
    stage.say("", "The model answers again. Only what was never billed is asked again, for a price that is shown.")
    stage.run("retry", "busy.csv", "--yes", "--reason", "the overload is over")
    ended = stage.wait_until_done("busy.csv")
    stage.run("status", "busy.csv")
    stage.run("failures", "busy.csv")
    stage.check("rows classified", ended.classified, BUSY)
    stage.check("requests that were billed, one a row", stage.billed - billed, BUSY)


def looked_back(stage: Stage) -> None:
    """Where an answer comes from, and all there was."""
    stage.say("Somebody asks where the answer for row 2 of busy.csv comes from.")
    stage.run("audit", "busy.csv", "2")
    stage.say("", "All uploads, and the results of one as they can be opened in a spreadsheet.")
    stage.run("status")
    stage.run("results", "busy.csv", "--out", "busy-results.csv")
    stage.say("", "Its first lines:", *stage.first_lines("busy-results.csv", 3))
    rows = CALLS + LOCKED + MANY + BUSY
    stage.check("model requests that were billed, for as many rows", stage.billed, rows)


def lost_answer(stage: Stage) -> None:
    """A refund that was made, and whose answer was lost, is found and not made again."""
    stage.say("For the order A-1 100.00 EUR were paid, and 12.50 of them are to be paid back. The request_id is minted")
    stage.say("once, with the approval; here it is given, so that the stand-in can be told what to do to it.")
    stage.run("refund", "order", "A-1", "10000", "EUR", "--stripe", "ch_10000eur_1")
    approval = ("refund", "approve", "A-1", "1250", "EUR", "--why", "broken cup", "--request-id", REFUND, "--yes")
    stage.run(*approval)
    stage.check("refunds at the provider", stage.refunds_made(REFUND), 0)
    stage.say("", "The provider makes the refund, and the connection breaks before it answers.")
    stage.run("refund", "run", REFUND, ends_with=1)
    stage.run("refund", "status", REFUND)
    stage.check("it stands", stage.refund(REFUND).standing, "unknown")
    stage.check("refunds at the provider", stage.refunds_made(REFUND), 1)
    stage.say("", "It is not sent again. The reconciler asks the provider by our reference; here it is told to.")
    stage.run("refund", "reconcile")
    stage.run("refund", "status", REFUND)
    stage.check("it stands", stage.refund(REFUND).standing, "done")
    stage.say("", "Whoever runs or approves it again changes nothing.")
    stage.run("refund", "run", REFUND)
    stage.run(*approval)
    stage.check("refunds at the provider", stage.refunds_made(REFUND), 1)


STEPS: Sequence[tuple[str, Callable[[Stage], None]]] = (
    ("An upload over the ceiling", over_the_ceiling),
    ("A key that is wrong", wrong_key),
    ("An intake that is killed", killed_intake),
    ("Rows that failed", overloaded),
    ("Looking back", looked_back),
    ("A refund whose answer is lost", lost_answer),
)


def _kill_publisher(stage: Stage) -> tuple[list[int], int]:
    """Kill the handlers of intake while one publishes; their process ids, and the record it stood at."""
    stood_at = [0]

    def publishing() -> bool:
        upload = stage.upload("many.csv")
        stood_at.append(upload.checkpoint if upload else 0)
        return upload is not None and not upload.published and 0 < upload.checkpoint < MANY

    stage.wait("many.csv to be taken in", lambda: stage.upload("many.csv") is not None, look_s=_LOOK_S)
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        handlers = stage.handlers.of("intake")
        # It runs between two looks only, so its work cannot be over before it is seen in the middle.
        if stage.handlers.kill_if("intake", publishing):
            return handlers, stood_at[-1]
        time.sleep(_LOOK_S)
    raise WalkError("the intake handler could not be met in the middle of its work")
