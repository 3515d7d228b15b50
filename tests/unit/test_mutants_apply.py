"""Every mutant of `benchmarks/mutants.py` can still be put into the sources; whether it is killed takes minutes."""

from mutants import list_mutants


def test_each_mutant_s_snippet_stands_once_and_its_tests_are_there():
    mutants, faults = list_mutants()
    assert faults == []
    assert len(mutants) >= 74
    assert len({(mutant.file, mutant.before, mutant.after) for mutant in mutants}) == len(mutants)
