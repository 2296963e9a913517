"""The data pipeline: loads, exports and rewritten tables, in this process or on Spark."""
