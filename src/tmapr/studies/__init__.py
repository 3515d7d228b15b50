"""Many runs: ablations, calibration, other methods, and how sure the difference between two of them is."""
