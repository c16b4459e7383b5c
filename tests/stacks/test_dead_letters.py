"""No event is lost without a trace: whatever delivers has a dead-letter queue, and may write to it."""

from __future__ import annotations

from tests.stacks.templates import Resource, Templates, listed


def rule_targets(templates: Templates) -> list[tuple[Resource, dict]]:
    return [(rule, target) for rule in templates.of_type("AWS::Events::Rule") for target in rule.properties["Targets"]]


def dead_letter_queues(templates: Templates) -> set[Resource]:
    """Every queue that something names as the place for what it could not handle."""
    found = {templates.named(target["DeadLetterConfig"]["Arn"], rule) for rule, target in rule_targets(templates)}
    for subscriber in templates.of_type("AWS::EventsV2::Subscriber"):
        found.add(templates.named(subscriber.properties["OnFailureConfiguration"]["Arn"], subscriber))
    for config in templates.of_type("AWS::Lambda::EventInvokeConfig"):
        if "DestinationConfig" in config.properties:
            found.add(templates.named(config.properties["DestinationConfig"]["OnFailure"]["Destination"], config))
    for queue in templates.of_type("AWS::SQS::Queue"):
        if "RedrivePolicy" in queue.properties:
            found.add(templates.named(queue.properties["RedrivePolicy"]["deadLetterTargetArn"], queue))
    return found


def test_a_rule_may_write_to_the_dead_letter_queue_of_each_of_its_targets(each_templates: Templates) -> None:
    for rule, target in rule_targets(each_templates):
        queue = each_templates.named(target["DeadLetterConfig"]["Arn"], rule)
        writers = [
            each_templates.named(statement["Condition"]["ArnEquals"]["aws:SourceArn"], policy)
            for policy in each_templates.of_type("AWS::SQS::QueuePolicy")
            if each_templates.named(policy.properties["Queues"][0], policy) == queue
            for statement in policy.properties["PolicyDocument"]["Statement"]
            if statement["Effect"] == "Allow"
            and statement["Principal"] == {"Service": "events.amazonaws.com"}
            and "sqs:SendMessage" in listed(statement["Action"])
        ]
        assert writers == [rule]


def test_a_rule_may_invoke_its_target_and_only_that_rule(each_templates: Templates) -> None:
    for rule, target in rule_targets(each_templates):
        function = each_templates.named(target["Arn"], rule)
        sources = [
            each_templates.named(permission.properties["SourceArn"], permission)
            for permission in each_templates.of_type("AWS::Lambda::Permission")
            if each_templates.named(permission.properties["FunctionName"], permission) == function
        ]
        assert sources == [rule]


def test_every_target_and_subscriber_states_its_retry_policy(each_templates: Templates) -> None:
    for _, target in rule_targets(each_templates):
        assert target["RetryPolicy"].keys() == {"MaximumRetryAttempts", "MaximumEventAgeInSeconds"}
    for subscriber in each_templates.of_type("AWS::EventsV2::Subscriber"):
        assert {"MaxRetryAttempts", "MaxEventAgeInSeconds"} <= subscriber.properties["RetryPolicy"].keys()


def test_a_subscribers_delivery_role_may_write_to_target_and_dead_letter_queue(each_templates: Templates) -> None:
    for subscriber in each_templates.of_type("AWS::EventsV2::Subscriber"):
        invoke = subscriber.properties["InvokeConfiguration"]
        role = each_templates.named(invoke["RoleArn"], subscriber)
        dead_letters = each_templates.named(subscriber.properties["OnFailureConfiguration"]["Arn"], subscriber)
        target = each_templates.named(invoke["TargetArn"], subscriber)
        to_the_target = {"AWS::SQS::Queue": "sqs:SendMessage", "AWS::Lambda::Function": "lambda:InvokeFunction"}
        assert each_templates.may(role, to_the_target[target.type], target)
        assert each_templates.may(role, "sqs:SendMessage", dead_letters)


def test_a_delivery_role_is_complete_before_its_subscriber_exists(each_templates: Templates) -> None:
    roles = {
        each_templates.named(subscriber.properties["InvokeConfiguration"]["RoleArn"], subscriber)
        for subscriber in each_templates.of_type("AWS::EventsV2::Subscriber")
    }
    assert all(role.properties["Policies"] for role in roles)
    assert not [found for found in each_templates.resources if found.type == "AWS::IAM::Policy"]


def test_only_the_bus_may_assume_a_delivery_role_and_only_for_this_account(each_templates: Templates) -> None:
    for subscriber in each_templates.of_type("AWS::EventsV2::Subscriber"):
        role = each_templates.named(subscriber.properties["InvokeConfiguration"]["RoleArn"], subscriber)
        (statement,) = role.properties["AssumeRolePolicyDocument"]["Statement"]
        assert statement["Principal"] == {"Service": "events.amazonaws.com"}
        assert statement["Condition"]["StringEquals"].keys() == {"aws:SourceAccount"}
        assert statement["Condition"]["ArnLike"].keys() == {"aws:SourceArn"}


def test_a_function_that_a_rule_invokes_keeps_the_events_it_failed_on(each_templates: Templates) -> None:
    configs = {
        each_templates.named(config.properties["FunctionName"], config): config
        for config in each_templates.of_type("AWS::Lambda::EventInvokeConfig")
    }
    for rule, target in rule_targets(each_templates):
        function = each_templates.named(target["Arn"], rule)
        config = configs[function]
        queue = each_templates.named(config.properties["DestinationConfig"]["OnFailure"]["Destination"], config)
        assert each_templates.may(each_templates.role_of(function), "sqs:SendMessage", queue)


def test_a_queue_that_drives_a_function_moves_what_fails_with_its_payload(each_templates: Templates) -> None:
    for mapping in each_templates.of_type("AWS::Lambda::EventSourceMapping"):
        queue = each_templates.named(mapping.properties["EventSourceArn"], mapping)
        redrive = queue.properties["RedrivePolicy"]
        dead_letters = each_templates.named(redrive["deadLetterTargetArn"], queue)
        # A moved message keeps its age: the second queue must keep it for longer than the first.
        assert dead_letters.properties["MessageRetentionPeriod"] > queue.properties["MessageRetentionPeriod"]
        assert mapping.properties["FunctionResponseTypes"] == ["ReportBatchItemFailures"]


def test_every_queue_is_either_worked_on_or_holds_dead_letters(each_templates: Templates) -> None:
    worked_on = {
        each_templates.named(mapping.properties["EventSourceArn"], mapping)
        for mapping in each_templates.of_type("AWS::Lambda::EventSourceMapping")
    }
    dead = dead_letter_queues(each_templates)
    assert set(each_templates.of_type("AWS::SQS::Queue")) == worked_on | dead
    assert not worked_on & dead


def test_the_outputs_list_every_dead_letter_queue_under_its_name(templates: Templates) -> None:
    names, listed_queues = [], set()
    for output in ("Classification.DeadLetterQueues", "Refund.RefundDeadLetterQueues"):
        found = templates.outputs[f"ProspectUploader{output}"]
        separator, pairs = found["Value"]["Fn::Join"]
        assert separator == ","
        names += [pair["Fn::Join"][1][0].removesuffix("=") for pair in pairs]
        listed_queues |= {(found["Stack"], pair["Fn::Join"][1][1]["Ref"]) for pair in pairs}
    assert sorted(names) == [
        *("classify-dlq", "classify-subscriber-dlq", "finish-failures", "finish-rule-dlq"),
        *("intake-failures", "intake-rule-dlq"),
        *("refund-approve-failures", "refund-bus-subscriber-dlq", "refund-queue-dlq", "refund-reconcile-failures"),
        *("refund-reconcile-rule-dlq", "refund-tool-failures"),
    ]
    assert listed_queues == {(queue.stack, queue.logical_id) for queue in dead_letter_queues(templates)}


def test_dlq_delivery_and_kms_what_writes_to_an_encrypted_queue_may_use_its_key(each_templates: Templates) -> None:
    """A queue's own encryption needs no grant; a customer key would have to name every service that writes there."""
    for queue in each_templates.of_type("AWS::SQS::Queue"):
        if "KmsMasterKeyId" not in queue.properties:
            assert queue.properties["SqsManagedSseEnabled"] is True
            continue
        key = each_templates.named(queue.properties["KmsMasterKeyId"], queue)
        granted = {
            action
            for statement in key.properties["KeyPolicy"]["Statement"]
            if "events.amazonaws.com" in listed(statement["Principal"].get("Service"))
            for action in listed(statement["Action"])
        }
        assert {"kms:Decrypt", "kms:GenerateDataKey*"} <= granted
