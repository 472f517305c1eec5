"""Comparisons with the programs that Loadline can replace: same requests or objects, and every difference explained."""
