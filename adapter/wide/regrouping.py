"""Labels added to the aggregations of a PromQL text, so that they are in the result.

Only the text is changed here. Whether the changed query can be used is proven in `adapter.wide.proof`.
"""

from collections.abc import Iterator, Sequence

from adapter.promql.selectors import AGGREGATORS, Token, tokens_of


def keeping(query: str, labels: Sequence[str]) -> str:
    """The query with the labels added to each `by (...)`, and a `by` for each aggregation without a list of labels."""
    if not labels:
        return query
    out, at = [], 0
    for position, text in sorted(_insertions(tokens_of(query), labels)):
        out += [query[at:position], text]
        at = position
    return "".join(out) + query[at:]


def _insertions(tokens: Sequence[Token], labels: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(offset, text) for each aggregation."""
    for index, (kind, text, end) in enumerate(tokens):
        following = _text(tokens, index + 1)
        if kind != "word" or (text.lower() == "by" and following != "("):
            continue
        if text.lower() == "by":
            closing = _closing(tokens, index + 1)
            kept = [each for _, each, _ in tokens[index + 2 : closing] if each != ","]
            missing = [each for each in labels if each not in kept]
            if missing:
                comma = "," if kept and _text(tokens, closing - 1) != "," else ""
                yield tokens[closing][2] - 1, comma + ",".join(missing)
        elif text.lower() in AGGREGATORS and following == "(":
            after = _text(tokens, _closing(tokens, index + 1) + 1).lower()
            if after not in ("by", "without"):
                yield end, f" by ({','.join(labels)}) "


def _text(tokens: Sequence[Token], index: int) -> str:
    return tokens[index][1] if index < len(tokens) else ""


def _closing(tokens: Sequence[Token], opening: int) -> int:
    """The index of the parenthesis that closes the one at `opening`; the last token when none does."""
    depth = 0
    for index in range(opening, len(tokens)):
        kind, text, _ = tokens[index]
        if kind == "mark":
            depth += (text == "(") - (text == ")")
            if not depth:
                return index
    return len(tokens) - 1
