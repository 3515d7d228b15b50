"""One page of HTML about runs, with everything that it needs inside it."""
