"""CloudWatch's alarms, evaluated as its user guide describes: pure, over datapoints with dimensions and a time."""
