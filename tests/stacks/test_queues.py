"""Every queue is encrypted and takes TLS only; the one that drives a function hides a message long enough."""

from __future__ import annotations

from tests.stacks.templates import Templates


def test_every_queue_is_encrypted_with_the_keys_of_sqs(each_templates: Templates) -> None:
    for queue in each_templates.of_type("AWS::SQS::Queue"):
        assert queue.properties["SqsManagedSseEnabled"] is True


def test_every_queue_refuses_requests_without_tls(each_templates: Templates) -> None:
    refusing = set()
    for policy in each_templates.of_type("AWS::SQS::QueuePolicy"):
        for statement in policy.properties["PolicyDocument"]["Statement"]:
            if statement["Effect"] == "Deny" and statement["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}:
                assert (statement["Action"], statement["Principal"]) == ("sqs:*", {"AWS": "*"})
                refusing |= {each_templates.named(queue, policy) for queue in policy.properties["Queues"]}
    assert refusing == set(each_templates.of_type("AWS::SQS::Queue"))


def test_a_message_is_hidden_for_six_times_the_timeout_of_the_function_it_drives(each_templates: Templates) -> None:
    for mapping in each_templates.of_type("AWS::Lambda::EventSourceMapping"):
        queue = each_templates.named(mapping.properties["EventSourceArn"], mapping)
        function = each_templates.named(mapping.properties["FunctionName"], mapping)
        assert queue.properties["VisibilityTimeout"] == 6 * function.properties["Timeout"]


def test_requests_in_flight_are_never_more_than_the_setting(templates: Templates, other_templates: Templates) -> None:
    for found, in_flight in ((templates, 20), (other_templates, 5)):
        classify = found.worker_functions()["classify"]
        (mapping,) = [
            each
            for each in found.of_type("AWS::Lambda::EventSourceMapping")
            if found.named(each.properties["FunctionName"], each) == classify
        ]
        concurrency = mapping.properties["ScalingConfig"]["MaximumConcurrency"]
        assert concurrency >= 2
        assert in_flight - concurrency < mapping.properties["BatchSize"] * concurrency <= in_flight
