"""What a package of your own may offer to tmapr. Each module stands alone; importing one imports no other."""
