"""The API group of LoadAutoscaler, under its one name: the scaler watches it and the adapter's `explain` reads it."""

from typing import Final

GROUP: Final = "loadline.io"
VERSION: Final = "v1beta1"
API_VERSION: Final = f"{GROUP}/{VERSION}"
