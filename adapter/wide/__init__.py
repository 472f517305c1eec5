"""One query for many requests, where that is proven: `proof`, `text`, `demand` and `plans`, in that order."""
