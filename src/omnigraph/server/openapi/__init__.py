"""The API document and its rendered page: both made from the table of operations and the structs of the wire."""

from __future__ import annotations

from omnigraph.server.openapi.document import api_document as api_document
from omnigraph.server.openapi.page import api_page as api_page
