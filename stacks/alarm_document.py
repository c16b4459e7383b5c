"""Every alarm as a table for people, written from the templates that make them.

`python app.py && python -m stacks.alarm_document cdk.out > docs/alarms.md`
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

from stacks.alarms import FIRST

HEAD = """# Alarms

Every alarm tells the alerts topic, within two minutes of the first failure; no data is health. It is over minutes after
the last failure (those on errors: as many as the function's timeout), and the next one is told anew, also while nobody
has emptied the dead-letter queue of the first. The alarms on what lasts (messages in a queue, a silent schedule) also
tell when it is over. SQS may need up to 15 minutes until it reports of a queue that was idle for hours; the alarms on
what failed do not wait for that.

Its name begins with the name of the deployment. This table is written from the templates:
`python app.py && python -m stacks.alarm_document cdk.out > docs/alarms.md`.

| alarm | failure it is for | what to do first |
|---|---|---|
"""


def document(assembly: Path) -> str:
    """The text of `docs/alarms.md` for one synthesized deployment."""
    rows = sorted(_rows(assembly))
    return HEAD + "".join(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in row)} |\n" for row in rows)


def _rows(assembly: Path) -> Iterator[tuple[str, str, str]]:
    (observability,) = assembly.glob("*Observability.template.json")
    deployment = observability.name.removesuffix("Observability.template.json")
    for path in assembly.glob(f"{deployment}*.template.json"):
        for resource in json.loads(path.read_text())["Resources"].values():
            if resource["Type"] == "AWS::CloudWatch::Alarm":
                properties = resource["Properties"]
                failure, first = properties["AlarmDescription"].split(FIRST)
                yield properties["AlarmName"].removeprefix(f"{deployment}-"), failure, first


def main(arguments: list[str]) -> int:
    """Print the document of the assembly in the one folder named; 2 when there is none."""
    if len(arguments) != 1 or not list(Path(arguments[0]).glob("*Observability.template.json")):
        sys.stderr.write("name the folder of one synth: python app.py && python -m stacks.alarm_document cdk.out\n")
        return 2
    sys.stdout.write(document(Path(arguments[0])))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
