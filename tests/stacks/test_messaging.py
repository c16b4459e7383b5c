"""The bus, and the topic that alarms can really reach."""

from __future__ import annotations

from tests.stacks.templates import Templates


def test_the_bus_keeps_events_for_as_long_as_set(templates: Templates) -> None:
    (bus,) = templates.of_type("AWS::EventsV2::EventBus")
    assert bus.properties["StorageConfiguration"] == {"RetentionPeriodInDays": 7}


def test_classify_gets_row_events_and_no_others(templates: Templates) -> None:
    only = filter_of(templates, "ProspectUploader-classify")
    assert only["Scope"] == "DATA"
    assert only["Pattern"] == '{"source": ["prospect-uploader"], "detail-type": ["prospect.submitted"]}'


def test_the_refund_worker_gets_refund_events_from_whichever_agent_and_no_others(templates: Templates) -> None:
    only = filter_of(templates, "ProspectUploader-refunds")
    assert (only["Scope"], only["Pattern"]) == ("DATA", '{"detail-type": ["refund.requested"]}')


def filter_of(templates: Templates, name: str) -> dict[str, str]:
    (subscriber,) = [each for each in templates.of_type("AWS::EventsV2::Subscriber") if each.properties["Name"] == name]
    (only,) = subscriber.properties["FilterConfiguration"]["Filters"]
    found: dict[str, str] = only
    return found


def test_the_topics_key_is_ours_rotates_and_serves_alarms_and_events(each_templates: Templates) -> None:
    (topic,) = each_templates.of_type("AWS::SNS::Topic")
    key = each_templates.named(topic.properties["KmsMasterKeyId"], topic)
    assert key.properties["EnableKeyRotation"] is True
    services = {
        service: set(statement["Action"])
        for statement in key.properties["KeyPolicy"]["Statement"]
        if isinstance(services_of := statement["Principal"].get("Service"), list)
        for service in services_of
    }
    assert services == {
        "cloudwatch.amazonaws.com": {"kms:Decrypt", "kms:GenerateDataKey*"},
        "events.amazonaws.com": {"kms:Decrypt", "kms:GenerateDataKey*"},
    }


def test_alarms_of_this_account_may_publish_to_the_topic(each_templates: Templates) -> None:
    (policy,) = each_templates.of_type("AWS::SNS::TopicPolicy")
    (statement,) = [each for each in policy.properties["PolicyDocument"]["Statement"] if each["Effect"] == "Allow"]
    assert statement["Principal"] == {"Service": "cloudwatch.amazonaws.com"}
    assert statement["Action"] == "sns:Publish"
    assert statement["Condition"]["StringEquals"].keys() == {"aws:SourceAccount"}


def test_an_address_is_subscribed_when_one_is_set_and_only_then(
    templates: Templates, other_templates: Templates
) -> None:
    (subscription,) = other_templates.of_type("AWS::SNS::Subscription")
    assert (subscription.properties["Protocol"], subscription.properties["Endpoint"]) == ("email", "ops@example.com")
    assert not [resource for resource in templates.resources if resource.type == "AWS::SNS::Subscription"]


def test_the_outputs_the_command_line_reads_are_there(templates: Templates) -> None:
    for name in (
        "Storage.UploadsBucketName",
        "Storage.ProspectsTableName",
        "Storage.IdempotencyTableName",
        "Messaging.EventBusArn",
        "Messaging.AlertsTopicArn",
        "Classification.IntakeFunctionName",
        "Classification.ClassifyFunctionName",
        "Classification.FinishFunctionName",
        "Classification.ClassifyQueueUrl",
        "Classification.DeadLetterQueues",
        "Storage.RefundLedgerTableName",
        "Refund.RefundToolFunctionName",
        "Refund.RefundApproveFunctionName",
        "Refund.RefundReconcileFunctionName",
        "Refund.RefundQueueUrl",
        "Refund.RefundStateMachineArn",
        "Refund.RefundDeadLetterQueues",
    ):
        assert templates.outputs[f"ProspectUploader{name}"]["Value"]
