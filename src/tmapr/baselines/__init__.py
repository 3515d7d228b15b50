"""What the method is compared with: published pose regressors."""
