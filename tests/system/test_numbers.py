"""The numbers of the default method: few, told, and checked."""

import pytest

from commandline import command
from tmapr.tracking import RouteModel


def test_the_method_has_at_most_fifty_numbers_and_config_prints_each_with_its_meaning(capsys):
    fields, model = RouteModel.model_fields, RouteModel()
    assert len(fields) - 1 + len(model.speeds) <= 50
    assert command("config", "--all") == 0
    told = capsys.readouterr().out
    told = told[told.index("[tracking.model]") :].split("\n[")[0]
    assert [name for name in fields if f"\n{name} = " not in told] == []
    assert all(field.description for field in fields.values())
    assert command("config") == 0
    assert "[tracking.model]" not in capsys.readouterr().out


def test_what_was_changed_is_printed_in_any_case(capsys):
    assert command("config", "--set", "tracking.model.proof=7.5") == 0
    assert "proof = 7.5" in capsys.readouterr().out


@pytest.mark.parametrize("speeds", [(0.0, 1.0), (1.0, 0.0, 2.0), (0.0, 0.5, 2.0), (0.5, 1.0, 2.0)])
def test_speeds_rise_with_standing_and_the_mapped_one_among_them(speeds):
    with pytest.raises(ValueError, match="speeds"):
        RouteModel(speeds=speeds)
