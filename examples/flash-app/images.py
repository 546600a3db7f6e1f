"""Pictures: a queue function with a package of its own, real work on a CPU."""

import base64
import io

from edgerun import Endpoint


@Endpoint(name="thumbnails", cpu="cpu3c-1-2", workers=(0, 2), dependencies=["Pillow==12.0.0"])
def thumbnail(width: int, height: int, size: int = 64) -> dict:
    """Draws a picture of the given size and makes a thumbnail of it."""
    import numpy
    from PIL import Image

    red, green = numpy.meshgrid(numpy.linspace(0, 255, width), numpy.linspace(0, 255, height))
    pixels = numpy.stack([red, green, numpy.full_like(red, 128)], axis=-1).astype(numpy.uint8)
    picture = Image.fromarray(pixels)
    picture.thumbnail((size, size))
    file = io.BytesIO()
    picture.save(file, format="PNG")
    return {
        "width": picture.width,
        "height": picture.height,
        "mean": [round(float(mean)) for mean in numpy.asarray(picture).mean(axis=(0, 1))],
        "png": base64.b64encode(file.getvalue()).decode(),
    }
