import pytest


@pytest.fixture(scope="session")
def drive(tmp_path_factory):
    """The scene of a real drive and its answers, by day mapped and at night localized."""
    from answered import answer_drive

    return answer_drive(tmp_path_factory.mktemp("mapped") / "map")


@pytest.fixture(scope="session")
def scene(drive):
    return drive[0]


@pytest.fixture(scope="session")
def answers(drive):
    return drive[1]
