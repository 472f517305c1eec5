"""PromQL: queries from rules, and which rows of their results answer a request. Pure."""
