"""What the method is compared with: published pose regressors, and the same classifier by gradient steps."""
