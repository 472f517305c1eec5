"""The commands of `loadline-adapter`: their flags, and what they print. Without one, it serves."""
