"""One query for many requests, where that is proven: `proof`, `text`, `costs`, `demand`, `chunks` and `plans`, in that order."""
