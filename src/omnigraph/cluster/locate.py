"""Where a cluster lives: a storage root as a URI, or a folder whose `cluster.yaml` says where its storage is."""

from __future__ import annotations

import os
from pathlib import Path

from omnigraph.cluster.diagnostics import ClusterNotServable, failed
from omnigraph.model.errors import InvalidRoot
from omnigraph.storage import Root, parse_root

CONFIG = "cluster.yaml"


def locate_cluster(cluster: str | os.PathLike[str]) -> Root:
    """The storage root of a cluster. Raises ClusterNotServable for a folder that is missing or cannot be read."""
    text = os.fspath(cluster)
    if "://" in text:
        return _root(text, text)
    folder = Path(text).expanduser()
    if not folder.is_dir():
        raise ClusterNotServable(text, (failed("config_dir_not_found", text, "there is no such folder"),))
    config = folder / CONFIG
    storage = _storage_of(text, config) if config.exists() else None
    if storage is None:
        return _root(text, str(folder))
    if "://" in storage:
        return _root(text, storage)
    return _root(text, str(folder / Path(storage).expanduser()))


def _root(cluster: str, address: str) -> Root:
    try:
        return parse_root(address)
    except InvalidRoot as error:
        raise ClusterNotServable(cluster, (failed("invalid_storage_root", address, error.sentence()),)) from error


def _storage_of(cluster: str, config: Path) -> str | None:
    """The key `storage`. The rest of the file is what is wanted, not what was applied."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        document = YAML(typ="safe", pure=True).load(config.read_bytes())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise ClusterNotServable(cluster, (failed("cluster_config_read_error", CONFIG, reason),)) from error
    except (YAMLError, UnicodeDecodeError) as error:
        reason = " ".join(str(error).split())
        raise ClusterNotServable(cluster, (failed("invalid_cluster_yaml", CONFIG, reason),)) from None
    if not isinstance(document, dict):
        raise ClusterNotServable(cluster, (failed("invalid_cluster_yaml", CONFIG, "it is not a mapping"),))
    storage = document.get("storage")
    if storage is None:
        return None
    if not isinstance(storage, str) or not storage.strip():
        raise ClusterNotServable(cluster, (failed("invalid_storage_root", CONFIG, "`storage` is not an address"),))
    return storage.strip()
