"""What holds the data keeps it, hides it, and forgets what is personal in time."""

from __future__ import annotations

from tests.stacks.templates import Templates


def test_the_bucket_is_versioned_encrypted_and_closed_to_the_public(each_templates: Templates) -> None:
    (bucket,) = each_templates.of_type("AWS::S3::Bucket")
    assert bucket.properties["VersioningConfiguration"] == {"Status": "Enabled"}
    assert set(bucket.properties["PublicAccessBlockConfiguration"].values()) == {True}
    (rule,) = bucket.properties["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    assert rule["ServerSideEncryptionByDefault"]["SSEAlgorithm"] == "AES256"


def test_the_bucket_refuses_requests_without_tls_1_2(each_templates: Templates) -> None:
    (policy,) = each_templates.of_type("AWS::S3::BucketPolicy")
    denied = [
        statement["Condition"]
        for statement in policy.properties["PolicyDocument"]["Statement"]
        if statement["Effect"] == "Deny" and statement["Action"] == "s3:*"
    ]
    assert {"Bool": {"aws:SecureTransport": "false"}} in denied
    assert {"NumericLessThan": {"s3:TlsVersion": 1.2}} in denied


def test_the_bucket_tells_eventbridge_by_its_own_property(each_templates: Templates) -> None:
    (bucket,) = each_templates.of_type("AWS::S3::Bucket")
    notifications = bucket.properties["NotificationConfiguration"]
    assert notifications == {"EventBridgeConfiguration": {"EventBridgeEnabled": True}}


def test_uploads_and_results_are_forgotten_after_the_retention(templates: Templates) -> None:
    (bucket,) = templates.of_type("AWS::S3::Bucket")
    everything = bucket.properties["LifecycleConfiguration"]["Rules"]
    rules = {rule["Prefix"]: rule for rule in everything if "Prefix" in rule}
    assert [rule["ExpiredObjectDeleteMarker"] for rule in everything if "Prefix" not in rule] == [True]
    assert rules.keys() == {"uploads/", "results/"}
    for rule in rules.values():
        assert rule["Status"] == "Enabled"
        assert rule["ExpirationInDays"] == 400
        assert rule["NoncurrentVersionExpiration"] == {"NoncurrentDays": 90}
        assert rule["AbortIncompleteMultipartUpload"] == {"DaysAfterInitiation": 7}


def test_tables_are_billed_on_demand_encrypted_and_recoverable(each_templates: Templates) -> None:
    for table in each_templates.of_type("AWS::DynamoDB::Table"):
        assert table.properties["BillingMode"] == "PAY_PER_REQUEST"
        assert table.properties["SSESpecification"] == {"SSEEnabled": True}
        assert table.properties["PointInTimeRecoverySpecification"]["PointInTimeRecoveryEnabled"] is True


def test_tables_have_the_keys_and_the_expiry_that_the_functions_use(templates: Templates) -> None:
    shapes = {
        tuple(key["AttributeName"] for key in table.properties["KeySchema"]): table.properties.get(
            "TimeToLiveSpecification"
        )
        for table in templates.of_type("AWS::DynamoDB::Table")
    }
    assert shapes == {
        ("pk", "sk"): {"AttributeName": "expires_at", "Enabled": True},
        ("id",): {"AttributeName": "expiration", "Enabled": True},
        # A refund that was forgotten could be paid again.
        ("row_id",): None,
    }


def indexes(templates: Templates) -> dict[str, dict]:
    return {
        index["IndexName"]: index
        for table in templates.of_type("AWS::DynamoDB::Table")
        for index in table.properties.get("GlobalSecondaryIndexes", [])
    }


def test_open_actions_are_found_through_a_sparse_index_the_oldest_first(templates: Templates) -> None:
    from functions.refunds.ledger import OPEN_INDEX

    index = indexes(templates)[OPEN_INDEX]
    assert [key["AttributeName"] for key in index["KeySchema"]] == ["open", "decided_at"]
    # An action is read from the index alone.
    assert index["Projection"] == {"ProjectionType": "ALL"}


def test_rows_that_may_still_change_are_found_through_a_sparse_index(templates: Templates) -> None:
    from functions.uploads.model import ATTENTION, RowItem

    index = indexes(templates)["attention"]
    assert [key["AttributeName"] for key in index["KeySchema"]] == [ATTENTION, "sk"]
    assert set(index["Projection"]["NonKeyAttributes"]) <= RowItem.model_fields.keys()


def test_data_outlives_the_stacks(templates: Templates) -> None:
    for kind in ("AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::Logs::LogGroup"):
        for resource in templates.of_type(kind):
            assert (resource.body["DeletionPolicy"], resource.body["UpdateReplacePolicy"]) == ("Retain", "Retain")
    for table in templates.of_type("AWS::DynamoDB::Table"):
        assert table.properties["DeletionProtectionEnabled"] is True


def test_an_ephemeral_deployment_leaves_nothing_and_needs_no_custom_resource(other_templates: Templates) -> None:
    for kind in ("AWS::S3::Bucket", "AWS::DynamoDB::Table", "AWS::Logs::LogGroup", "AWS::KMS::Key"):
        for resource in other_templates.of_type(kind):
            assert (resource.body["DeletionPolicy"], resource.body["UpdateReplacePolicy"]) == ("Delete", "Delete")
    for table in other_templates.of_type("AWS::DynamoDB::Table"):
        assert table.properties["DeletionProtectionEnabled"] is False


def test_no_stack_uses_a_custom_resource(each_templates: Templates) -> None:
    kinds = {resource.type for resource in each_templates.resources}
    assert not {kind for kind in kinds if kind.startswith("Custom::") or kind == "AWS::CloudFormation::CustomResource"}
