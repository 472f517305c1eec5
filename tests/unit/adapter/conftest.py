"""Properties of the adapter hold on a slow machine too: hypothesis sets no deadline per example."""

from hypothesis import settings

settings.register_profile("adapter", deadline=None)
settings.load_profile("adapter")
