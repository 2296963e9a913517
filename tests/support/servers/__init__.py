"""Real servers on the loopback interface: S3, Spark, a provider of embeddings."""
