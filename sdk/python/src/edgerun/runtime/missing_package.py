"""What to do about a package that a worker lacks."""

from __future__ import annotations

import re
import sys

from .application import Application

# Packages that are imported under another name than they are installed by.
_PACKAGES = {
    "bs4": "beautifulsoup4",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dotenv": "python-dotenv",
    "PIL": "pillow",
    "sklearn": "scikit-learn",
    "skimage": "scikit-image",
    "yaml": "pyyaml",
}

# Builds leave them out, also where an app declares them as dependencies: Edgerun's own images have them.
OF_IMAGES = frozenset({"numpy", "torch", "torchaudio", "torchvision", "triton"})

# Packages of several gigabytes, which are not installed just to try a function.
LARGE = OF_IMAGES - {"numpy"}


def package_advice(error: BaseException, application: Application) -> str | None:
    """How to install the package whose import failed; None for any other error."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    root = (name or "").split(".")[0]
    if not root or root in sys.stdlib_module_names or application.has_module(root):
        return None
    package = re.sub(r"[-_.]+", "-", _PACKAGES.get(root, root)).lower()
    if application.installs_packages and package in LARGE:
        return (
            f"The package {package} is not on this worker, and too large to be installed for a try: use an image that has "
            f"it, or, where workers are processes of this computer, `pip install {package}` into their Python. Where "
            "images lack it anyway, FLASH_IMAGE_PACKAGES= without it has it installed."
        )
    if application.installs_packages:
        return (
            f'The package {package} is not on this worker: add it to the endpoint\'s dependencies=["{package}"] or to '
            "requirements.txt, and it is installed at the next call."
        )
    if package in application.excluded_packages | OF_IMAGES:
        return (
            f"Builds leave the package {package} out, for images have it or --exclude names it, but the Python of this "
            f'worker lacks it: use an image that has it, or bundle it by dependencies=["{package}"], without --exclude '
            "and with FLASH_IMAGE_PACKAGES= naming only what the image has, and run `flash deploy` again."
        )
    return (
        f"The package {package} is not in the app, and nothing is installed at run time: "
        f'add it to the endpoint\'s dependencies=["{package}"] or to requirements.txt, and run `flash deploy` again.'
    )
