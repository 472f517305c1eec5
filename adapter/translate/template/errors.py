"""What can be wrong with a template: its text (known when the configuration is loaded) or its use (known per request)."""


class TemplateSyntaxError(ValueError):
    """The text is no template, or one outside the subset served here. `line` and `column` count from 1."""

    def __init__(self, problem: str, *, text: str, offset: int) -> None:
        before = text[:offset]
        self.problem = problem
        self.line = before.count("\n") + 1
        self.column = offset - (before.rfind("\n") + 1) + 1
        super().__init__(f"{self.line}:{self.column}: {problem}")


class TemplateExecutionError(ValueError):
    """The template is well formed but makes no sense for these arguments (an index out of range, an unknown field)."""
