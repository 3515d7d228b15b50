"""`tmapr demo`: the main job on a made-up world, end to end."""

from pathlib import Path
from typing import Annotated

import typer


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="where to put the run")] = Path("runs/demo"),
    quick: Annotated[bool, typer.Option("--quick", help="a smaller block")] = False,
) -> None:
    """Simulate a block, map it at noon, adapt at dusk, localize at night, evaluate."""
    from tmapr.artifacts.run import RunFolder
    from tmapr.cli.evaluate import print_errors
    from tmapr.cli.options import watching
    from tmapr.evaluation.assessment import assess
    from tmapr.evaluation.running import map_experiment, run_experiment
    from tmapr.experiment import Data, Experiment
    from tmapr.fusion.capf import Fusion
    from tmapr.gating import Gating
    from tmapr.perception.settings import Perception
    from tmapr.simulation.demo import ADAPT, REFERENCE, TEST, recordings

    experiment = Experiment(
        name="demo",
        data=Data(root=str(out), reference=REFERENCE, adapt=(ADAPT,), test=(TEST,)),
        perception=Perception(encoder="own"),
        # Chosen on worlds 11 and 12; the demonstration is world 1. The pose head's errors are slow, not white, and the
        # corners sharp, so the filter is told to trust both less than their spread suggests.
        gating=Gating(min_similarity=0.5),
        fusion=Fusion(noise="acceleration", velocity_noise=10.0, apr_variance=100.0, min_correction_variance=1.0),
    )
    folder = RunFolder(out)
    for recording in recordings(seed=1, size=150.0 if quick else 400.0):
        recording.save(folder.percepts(recording.sequence))
    typer.echo(
        "a made-up world: noon is mapped, dusk adapted to with labels, night localized with a detour off the map"
    )
    map_experiment(experiment, folder, watching("mapping", quiet=False))
    run_experiment(experiment, folder, watching("localizing", quiet=False))
    print_errors(assess(folder))
    typer.echo(f"everything is in {out}; the estimates: {folder.estimates(TEST)}")
