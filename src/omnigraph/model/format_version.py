"""The versions of what is on disk. One internal schema version is served; there is no migration in place."""

INTERNAL_SCHEMA_VERSION = 4
SCHEMA_STATE_FORMAT_VERSION = 1
SCHEMA_IDENTITY_VERSION = 1
SIDECAR_VERSION = 2
DATA_STORAGE_VERSION = "2.2"
