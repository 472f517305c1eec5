"""The errors of a template: in its text (found when the configuration is loaded) or in its use (found per request)."""


class TemplateSyntaxError(ValueError):
    """The text is not a template, or not in the supported subset. `line` and `column` count from 1."""

    def __init__(self, problem: str, *, text: str, offset: int) -> None:
        before = text[:offset]
        self.problem = problem
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(f"{self.line}:{self.column}: {problem}")


class TemplateExecutionError(ValueError):
    """The template is well formed but not valid for its argument (an index out of range, an unknown field)."""
