"""The table with a row's outcome: one item a row, written again by whoever comes again."""

from __future__ import annotations

import os

import boto3

_table = boto3.resource("dynamodb").Table(os.environ["RESULTS_TABLE"])


def store(row: str, label: str) -> None:
    _table.put_item(Item={"row": row, "label": label})
