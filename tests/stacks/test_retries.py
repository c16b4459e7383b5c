"""One layer retries an effect; the attempts of two would multiply."""

from __future__ import annotations

from typing import Any

import pytest

from stacks.retries import Layer, TwoLayersRetryError, worst_case_attempts
from tests.stacks.templates import Resource, Templates


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


@pytest.mark.parametrize(
    ("layers", "attempts"),
    [([], 1), ([Layer("queue", 5)], 5), ([Layer("queue", 5), Layer("sdk", 1)], 5), ([Layer("queue", 1)], 1)],
)
def test_one_retrying_layer_decides_the_worst_case(layers: list[Layer], attempts: int) -> None:
    assert worst_case_attempts("any", layers) == attempts


def test_two_retrying_layers_are_refused_by_name() -> None:
    with pytest.raises(
        TwoLayersRetryError, match=r"worker any: queue \(5 attempts\) and sdk \(3 attempts\) both retry"
    ):
        worst_case_attempts("any", [Layer("queue", 5), Layer("once", 1), Layer("sdk", 3)])
