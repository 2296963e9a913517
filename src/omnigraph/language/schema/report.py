"""Report: collects everything the compiler has to say about one text, so that one run names every mistake."""

from __future__ import annotations

from omnigraph.language.diagnostics import CompileError, Diagnostic, SourceText, Stage
from omnigraph.language.schema.syntax import Place

_STAGE_ORDER: dict[Stage, int] = {"syntax": 0, "parse": 1, "catalog": 2, "resolution": 3}


class Report:
    """Errors and warnings of one compilation. Nothing is raised until `raise_if_failed`."""

    def __init__(self, source: SourceText) -> None:
        self.source = source
        self._errors: dict[Diagnostic, int] = {}
        self._warnings: dict[Diagnostic, int] = {}

    def error(self, stage: Stage, message: str, place: Place, hint: str | None = None, code: str | None = None) -> None:
        made = self.source.diagnostic(stage, message, place.start, place.end, hint=hint, code=code)
        self._errors.setdefault(made, place.start)

    def warn(
        self, message: str, place: Place, hint: str | None = None, *, stage: Stage = "lint", code: str | None = None
    ) -> None:
        made = self.source.diagnostic(stage, message, place.start, place.end, severity="warning", hint=hint, code=code)
        self._warnings.setdefault(made, place.start)

    def check_encoding(self) -> None:
        """Unpaired surrogates cannot be stored as UTF-8; they can only come from a lenient decoder."""
        for offset, char in enumerate(self.source.text if not self.source.text.isascii() else ""):
            if "\ud800" <= char <= "\udfff":
                self.error("syntax", "the text is not valid Unicode: an unpaired surrogate", Place(offset, offset))
                self.raise_if_failed()

    @property
    def has_syntax_errors(self) -> bool:
        return any(diagnostic.stage == "syntax" for diagnostic in self._errors)

    @property
    def warnings(self) -> tuple[Diagnostic, ...]:
        return tuple(sorted(self._warnings, key=self._warnings.__getitem__))

    def raise_if_failed(self) -> None:
        """Earlier stages first, then by place: the first error is the one that explains the others."""
        if not self._errors:
            return
        ordered = sorted(self._errors.items(), key=lambda item: (_STAGE_ORDER.get(item[0].stage, 9), item[1]))
        raise CompileError(diagnostics=(*(diagnostic for diagnostic, _ in ordered), *self.warnings))
