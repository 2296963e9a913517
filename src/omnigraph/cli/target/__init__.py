"""What a command acts on: scope flags, the operator's configuration, and when consent is needed."""
