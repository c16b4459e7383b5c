"""All checks, in order. One that cannot be made is unknown, and the others go on."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from botocore.exceptions import BotoCoreError, ClientError

from cli.doctor.bus import bus_is_active, bus_metrics, region_has_bus, subscriber_delivers
from cli.doctor.deliveries import bucket_sends_events, concurrency_suffices, dead_letters_empty, redrive_matches
from cli.doctor.model import model_answers, secret_holds_a_key
from cli.doctor.object_keys import keys_arrive_as_they_are
from cli.doctor.patient import MissingOutputError, Patient
from cli.doctor.people import alarms_are_set, alerts_reach_somebody
from cli.doctor.report import Finding, unknown
from cli.sentences import AWS, LOCAL, sentence_of

Check = Callable[[Patient], Finding]
CHECKS: Mapping[str, Check] = {
    "region": region_has_bus,
    "bus": bus_is_active,
    "subscriber": subscriber_delivers,
    "bus_metrics": bus_metrics,
    "bucket_events": bucket_sends_events,
    "object_keys": keys_arrive_as_they_are,
    "redrive": redrive_matches,
    "dead_letters": dead_letters_empty,
    "concurrency": concurrency_suffices,
    "secret": secret_holds_a_key,
    "model": model_answers,
    "alerts": alerts_reach_somebody,
    "alarms": alarms_are_set,
}


def examine(patient: Patient) -> Iterator[tuple[str, Finding]]:
    """Each check's name and finding, as they come."""
    for name, check in CHECKS.items():
        yield name, _made(check, patient)


def _made(check: Check, patient: Patient) -> Finding:
    try:
        return check(patient)
    except (ClientError, BotoCoreError) as error:
        told = sentence_of(error, LOCAL if patient.local else AWS)
        return unknown(told.rstrip("."), "Mend that and run this again, or look by hand.")
    except MissingOutputError as error:
        return unknown(str(error), "Deploy all stacks again.")
