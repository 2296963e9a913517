"""Loads on both engines, and what they may leave behind."""
