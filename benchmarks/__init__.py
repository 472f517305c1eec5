"""Comparisons with the peers on the real control plane: one file per question, answers checked, ratios told."""
