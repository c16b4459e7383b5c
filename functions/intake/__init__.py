"""From an uploaded object to published rows: CSV contract, admission, publishing."""
