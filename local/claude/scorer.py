"""The rules by which the stand-in labels a row. They are stated here and are no model.

Points: a title of the first rank 2, of the second 1, of a beginner -1; words of intent in the notes 2, of interest 1;
words of refusal anywhere -5. Three points or more are hot, one or two warm, anything less cold.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LABELS = ("hot", "warm", "cold")

_FIRST_RANK = (
    "chief|ceo|cto|cfo|coo|cio|cmo|founder|co-founder|owner|president|vp|svp|evp|vice president|director|"
    "head of|partner"
)
_SECOND_RANK = "manager|lead|principal|senior"
_BEGINNER = "intern|student|assistant|trainee|working student"
_INTENT = (
    "demo|pricing|price|quote|budget|buy|purchase|contract|proposal|rfp|trial|pilot|call me|urgent|asap|this quarter|"
    "next week|ready to|sign|rollout"
)
_INTEREST = (
    "interested|evaluating|comparing|considering|downloaded|webinar|whitepaper|newsletter|follow up|later this year"
)
_REFUSAL = (
    "unsubscribe|unsubscribed|not interested|no interest|no budget|do not contact|don't contact|no longer|"
    "left the company|bounced|competitor|spam|wrong person|never"
)


def _words(alternatives: str) -> re.Pattern[str]:
    return re.compile(rf"(?<!\w)(?:{alternatives})(?!\w)", re.IGNORECASE)


_TITLE_POINTS = ((_words(_FIRST_RANK), 2), (_words(_SECOND_RANK), 1), (_words(_BEGINNER), -1))
_NOTES_POINTS = ((_words(_INTENT), 2), (_words(_INTEREST), 1))
_ANYWHERE_POINTS = ((_words(_REFUSAL), -5),)


def label(row: Mapping[str, str]) -> str:
    """Hot, warm or cold for a row of column name → text."""
    points = (
        _first(_TITLE_POINTS, row.get("title", ""))
        + _first(_NOTES_POINTS, row.get("notes", ""))
        + _first(_ANYWHERE_POINTS, " ".join(row.values()))
    )
    return "hot" if points >= 3 else "warm" if points >= 1 else "cold"


def _first(rules: tuple[tuple[re.Pattern[str], int], ...], text: str) -> int:
    return next((points for pattern, points in rules if pattern.search(text)), 0)
