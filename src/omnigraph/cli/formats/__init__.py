"""Result formats: the rows of a read as lines of text. Pure functions; start with `result_lines`."""

from omnigraph.cli.formats.choice import ResultFormat, chosen_format
from omnigraph.cli.formats.delimited import csv_lines
from omnigraph.cli.formats.json_lines import json_lines
from omnigraph.cli.formats.key_values import key_value_lines
from omnigraph.cli.formats.result import ResultView, TableStyle, header_line, result_lines, view_of
from omnigraph.cli.formats.table import table_lines

__all__ = [
    "ResultFormat",
    "ResultView",
    "TableStyle",
    "chosen_format",
    "csv_lines",
    "header_line",
    "json_lines",
    "key_value_lines",
    "result_lines",
    "table_lines",
    "view_of",
]
