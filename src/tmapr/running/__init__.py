"""An experiment is run: images are encoded, traverses mapped, drives localized, finished runs read back."""
