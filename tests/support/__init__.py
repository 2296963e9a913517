"""What the tests share: a real S3 server, a counting proxy, fixtures of the Rust releases, writers for crash tests."""
