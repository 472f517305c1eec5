"""What type of result a PromQL expression has, as far as its syntax shows."""

import promql_parser


def is_scalar(node: object) -> bool:
    """Whether it is a scalar (`checkAST` of the parser of Prometheus)."""
    match node:
        case promql_parser.NumberLiteral():
            return True
        case promql_parser.ParenExpr() | promql_parser.UnaryExpr():
            return is_scalar(node.expr)
        case promql_parser.BinaryExpr():
            return is_scalar(node.lhs) and is_scalar(node.rhs)
        case promql_parser.Call():
            return bool(node.func.return_type == promql_parser.ValueType.Scalar)
    return False
