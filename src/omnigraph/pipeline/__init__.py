"""The pipeline: jobs on Spark that turn sources into staged effects. Start with `session`, `run`, `load_job`."""
