"""Mapping files: JSON or YAML on the command line, a plain document for everything below."""

from __future__ import annotations

from typing import Any

from omnigraph.cli.inputs.files import read_text
from omnigraph.cli.refusals import UnreadableFile


def read_mapping(path: str) -> Any:
    """The document of a mapping file. YAML is imported only for a file that is not JSON by its name."""
    text = read_text(path)
    if path.endswith(".json"):
        import json

        try:
            return json.loads(text)
        except ValueError as error:
            raise UnreadableFile(path, f"not valid JSON: {error}") from error
    from ruamel.yaml import YAML
    from ruamel.yaml.error import YAMLError

    try:
        return YAML(typ="safe", pure=True).load(text)
    except YAMLError as error:
        raise UnreadableFile(path, f"not valid YAML: {str(error).splitlines()[0]}") from error
