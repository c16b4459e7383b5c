"""One layer retries an effect; the attempts of two would multiply."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import boto3
import httpx2
import pytest
from botocore import loaders

from bench.child import ROOT
from functions.classify.claude import AnthropicProvider, BedrockProvider
from functions.events.publisher import CLIENT_CONFIG
from functions.refunds.providers.stripe import StripeProvider
from stacks.retries import (
    NAIVE,
    Layer,
    Retries,
    TwoLayersRetryError,
    anthropic_sdk,
    checked,
    retries_table,
    retries_text,
)
from stacks.retries_document import default_retries
from tests.stacks.templates import Resource, Templates
from tests.stacks.test_dead_letters import rule_targets
from tests.stacks.test_own_metrics import handler  # noqa: F401 -- a fixture


def attempts_by_layer(templates: Templates, function: Resource) -> dict[str, int]:
    """Runs of a function for one event that each layer may cause, read from the template alone."""
    (config,) = [
        config
        for config in templates.of_type("AWS::Lambda::EventInvokeConfig")
        if templates.named(config.properties["FunctionName"], config) == function
    ]
    layers = {"asynchronous": 1 + config.properties["MaximumRetryAttempts"]}
    for mapping in templates.of_type("AWS::Lambda::EventSourceMapping"):
        if templates.named(mapping.properties["FunctionName"], mapping) == function:
            queue = templates.named(mapping.properties["EventSourceArn"], mapping)
            layers["queue"] = queue.properties["RedrivePolicy"]["maxReceiveCount"]
    for subscriber in templates.of_type("AWS::EventsV2::Subscriber"):
        if templates.named(subscriber.properties["InvokeConfiguration"]["TargetArn"], subscriber) == function:
            layers["bus"] = 1 + subscriber.properties["RetryPolicy"]["MaxRetryAttempts"]
    return layers


@pytest.fixture(scope="module")
def workers() -> dict[str, Retries]:
    return {each.worker: each for each in default_retries()}


def layers_of(retries: Retries) -> dict[str, int]:
    return {layer.name: layer.attempts for layer in retries.layers}


def test_at_most_one_layer_runs_a_function_again(each_templates: Templates) -> None:
    for function in each_templates.of_type("AWS::Lambda::Function"):
        retrying = [name for name, attempts in attempts_by_layer(each_templates, function).items() if attempts > 1]
        assert len(retrying) <= 1, function


def test_classify_knows_how_often_its_queue_tries(each_templates: Templates) -> None:
    function = each_templates.worker_functions()["classify"]
    variables: dict[str, Any] = function.properties["Environment"]["Variables"]
    layers = attempts_by_layer(each_templates, function)
    assert layers == {"asynchronous": 1, "queue": int(variables["MAX_RECEIVES"])}


def test_a_tick_that_fails_is_not_retried_because_the_next_one_comes(each_templates: Templates) -> None:
    assert attempts_by_layer(each_templates, each_templates.worker_functions()["finish"]) == {"asynchronous": 1}


def test_what_is_told_of_a_worker_is_what_its_template_says(templates: Templates, workers: dict[str, Retries]) -> None:
    assert workers.keys() == templates.worker_functions().keys()
    rules = {
        templates.named(target["Arn"], rule): 1 + target["RetryPolicy"]["MaximumRetryAttempts"]
        for rule, target in rule_targets(templates)
    }
    for name, function in templates.worker_functions().items():
        told, found = layers_of(workers[name]), attempts_by_layer(templates, function)
        assert told.get("Lambda's asynchronous invocation", 1) == found["asynchronous"]
        assert told.get("the queue") == found.get("queue")
        assert told.get("the rule") == rules.get(function)
    buses = [
        1 + subscriber.properties["RetryPolicy"]["MaxRetryAttempts"]
        for subscriber in templates.of_type("AWS::EventsV2::Subscriber")
    ]
    told = [layers["the bus"] for layers in map(layers_of, workers.values()) if "the bus" in layers]
    assert sorted(told) == sorted(buses)


def test_of_one_row_or_refund_one_request_may_be_billed_whoever_runs_it_how_often(workers: dict[str, Retries]) -> None:
    assert {name: (each.runs, each.requests, each.billed) for name, each in workers.items()} == {
        "intake": (3, 0, 0),
        "classify": (12, 12, 1),
        "finish": (1, 0, 0),
        "refund-tool": (1, 1, 1),
        "refund-queue": (12, 12, 1),
        "refund-bus": (6, 6, 1),
        "refund-reconcile": (1, 1, 1),
        "refund-approve": (1, 0, 0),
    }


class _Key:
    def get(self) -> str:
        return "key"


def test_the_sdk_tries_as_often_as_is_told(workers: dict[str, Retries]) -> None:
    """That a call is one request whatever is answered, tests/unit/test_classify_claude.py holds over a socket."""
    for provider in (AnthropicProvider(_Key()), BedrockProvider("eu-west-1")):  # type: ignore[arg-type]
        client: Any = provider.client(httpx2.AsyncClient())
        assert 1 + client.max_retries == layers_of(workers["classify"])["the Anthropic SDK"] == 1


def test_the_payment_provider_is_asked_as_often_as_is_told(workers: dict[str, Retries]) -> None:
    address = "https://api.stripe.com"
    provider = StripeProvider(_Key(), api_base=address, deadline_s=1.0, keys_retention_s=None)  # type: ignore[arg-type]
    try:
        client: Any = provider._client("key")
        assert (
            1 + client._requestor._options.max_network_retries
            == layers_of(workers["refund-tool"])["the Stripe library"]
            == 1
        )
    finally:
        provider.close()


def test_boto3_tries_as_often_as_is_told(workers: dict[str, Retries], handler: ModuleType) -> None:  # noqa: F811
    assert handler.AWS.retries["total_max_attempts"] == layers_of(workers["classify"])["boto3"]
    default = boto3.client("dynamodb", "eu-west-1", aws_access_key_id="a", aws_secret_access_key="s")
    assert default.meta.config.retries == {"mode": "legacy"}
    attempts = loaders.Loader().load_data("_retry")["retry"]["dynamodb"]["__default__"]["max_attempts"]
    for name in ("intake", "finish"):
        assert layers_of(workers[name])["boto3 for PutEvents"] == CLIENT_CONFIG.retries["total_max_attempts"]
        assert layers_of(workers[name])["boto3 for DynamoDB"] == attempts


@pytest.mark.parametrize(
    ("layers", "runs", "requests"),
    [
        ([], 1, 1),
        ([Layer("queue", 5)], 5, 5),
        ([Layer("queue", 5), anthropic_sdk()], 5, 5),
        ([Layer("queue", 1), anthropic_sdk(3)], 1, 3),
        ([Layer("bus", 186, "hand-over"), Layer("queue", 5), Layer("boto3", 3, "AWS call")], 5, 5),
    ],
)
def test_one_repeating_layer_decides_the_worst_case_and_the_claim_what_is_billed(
    layers: list[Layer], runs: int, requests: int
) -> None:
    for billable in (1, 2):
        found = checked(Retries("any", layers, billable))
        assert (found.runs, found.requests, found.billed) == (runs, requests, min(billable, requests))
    assert Retries("any", layers).requests == 0


def test_two_repeating_layers_are_refused_by_name() -> None:
    with pytest.raises(
        TwoLayersRetryError, match=r"worker any: queue \(5 attempts\) and the Anthropic SDK \(3 attempts\) both retry"
    ):
        checked(Retries("any", [Layer("queue", 5), Layer("once", 1), anthropic_sdk(3)]))


def test_the_naive_stack_is_what_is_refused() -> None:
    assert (NAIVE.runs, NAIVE.requests, NAIVE.billed) == (3, 9, 9)
    with pytest.raises(TwoLayersRetryError):
        checked(NAIVE)


def test_the_table_has_every_worker_and_the_naive_stack(workers: dict[str, Retries]) -> None:
    rows = [line.strip("| ").split(" | ") for line in retries_table(list(workers.values())).splitlines()]
    assert {len(row) for row in rows[2:]} == {5}
    assert [row[0] for row in rows[2:]] == [*workers, "the naive stack"]
    asked = {row[0]: row[-2:] for row in rows[2:]}
    assert (asked["classify"], asked["intake"]) == (["12 × 1 = 12", "1"], ["none", "0"])
    assert asked["the naive stack"] == ["3 × 3 = 9", "9"]


def test_what_a_synth_prints_is_a_line_a_worker() -> None:
    queued = Retries("classify", [Layer("the queue", 12), anthropic_sdk()], billable=1)
    once = Retries("finish", [Layer("the rule", 2, "hand-over"), Layer("Lambda", 1)])
    assert retries_text([queued, once]).splitlines()[1:] == [
        "  classify  12 runs, 12 requests, 1 of them billed (the queue 12, the Anthropic SDK 1)",
        "  finish    1 run (Lambda 1)",
    ]


def test_the_document_says_what_the_synth_says(workers: dict[str, Retries]) -> None:
    document = (ROOT / "docs" / "guarantees.md").read_text()
    assert retries_table(list(workers.values())) in document, "write it anew: make guarantees"
