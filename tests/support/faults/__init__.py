"""Faults on purpose: a shim between a process and its file system, a proxy before the object store."""
