"""The policy of the specification's example: the bundle of the graph `library`, and that of the server."""

from __future__ import annotations

LIBRARY = """
version: 1
groups:
  readers: [ann, bo, cy, mo]
  editors: [ann, cy]
  admins: [cy]
  mergers: [mo, cy]
  callers: [iv]
protected_branches: [main]
rules:
  - { id: read-all,    allow: { actors: { group: readers }, actions: [read], branch_scope: any } }
  - { id: draft-write, allow: { actors: { group: editors }, actions: [change], branch_scope: unprotected } }
  - id: draft-refs
    allow: { actors: { group: editors }, actions: [branch_create, branch_delete], target_branch_scope: unprotected }
  - { id: main-write,  allow: { actors: { group: admins }, actions: [change], branch_scope: protected } }
  - { id: merge,       allow: { actors: { group: mergers }, actions: [branch_merge], target_branch_scope: any } }
  - { id: dump,        allow: { actors: { group: admins }, actions: [export], branch_scope: any } }
  - { id: run,         allow: { actors: { group: editors }, actions: [invoke_query] } }
  - { id: run-only,    allow: { actors: { group: callers }, actions: [invoke_query] } }
  - { id: migrate,     allow: { actors: { group: admins }, actions: [schema_apply], target_branch_scope: protected } }
"""
SERVER = """
version: 1
groups: { ops: [cy] }
rules: [ { id: list, allow: { actors: { group: ops }, actions: [graph_list] } } ]
"""
