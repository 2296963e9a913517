"""Control objects: the small files beside the tables, on disk and on S3."""

from __future__ import annotations

from typing import TYPE_CHECKING

from omnigraph.model.late_names import late_names

if TYPE_CHECKING:
    from omnigraph.storage.objects.control_objects import ListedFile as ListedFile
    from omnigraph.storage.objects.control_objects import ObjectStore as ObjectStore
    from omnigraph.storage.objects.control_objects import StoredObject as StoredObject
    from omnigraph.storage.objects.control_objects import open_store as open_store
    from omnigraph.storage.objects.local import storage_error as storage_error
    from omnigraph.storage.objects.s3 import bucket_store as bucket_store
else:
    __getattr__, __dir__ = late_names(
        __name__,
        {
            "control_objects": (
                "ListedFile",
                "ObjectStore",
                "StoredObject",
                "open_store",
            ),
            "local": ("storage_error",),
            "s3": ("bucket_store",),
        },
    )
