"""The data pipeline: loads and exports, in this process or on Spark."""
