"""The memories of HPAs, stored in objects of the kind ScalingMemory."""
