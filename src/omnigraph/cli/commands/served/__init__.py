"""Commands about servers, clusters and what they decide: one module per family."""
