"""Clusters for tests, written by hand."""
