"""Colors as people see them."""

import numpy as np
import numpy.typing as npt

Colors = npt.NDArray[np.float32]

_TO_XYZ = np.array(
    [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]], np.float32
) / np.array([[0.9505], [1.0], [1.089]], np.float32)


def to_lab(rgb: Colors) -> Colors:
    """Convert sRGB colors (0 to 255) to CIELAB. The distance of two results is their ΔE (CIE 1976)."""
    share = rgb / np.float32(255)
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4).astype(np.float32)  # noqa: PLR2004
    xyz = linear @ _TO_XYZ.T
    x, y, z = np.moveaxis(np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116), -1, 0)  # noqa: PLR2004
    return np.stack([116 * y - 16, 500 * (x - y), 200 * (y - z)], axis=-1).astype(np.float32)
