"""The gallery is what its rule chooses, and small."""

from clips import GROUNDS, choose_shots
from proving_rows import HOME, METHOD, ROWS, load_rows

SHOTS = choose_shots(list(load_rows(ROWS / "styles" / METHOD).values()))
GALLERY = (HOME / "docs/gallery.md").read_text()


def test_it_shows_the_worst_drives_that_are_kept():
    rows = {name: row for name, row in load_rows(ROWS / "styles" / METHOD).items() if name in GROUNDS}
    twins = [shot.world for shot in SHOTS if shot.kind == "twin"]
    for world in twins:
        others = [row for row in rows.values() if row.kind == rows[world].kind]
        assert rows[world].drives["night"].first_right == min(row.drives["night"].first_right for row in others)
    assert len({rows[world].kind for world in twins}) == 3
    wrong = [rows[shot.world].drives[shot.drive].wrong_metres for shot in SHOTS if shot.kind == "wrong"]
    longest = {name: max(found.wrong_metres for found in row.drives.values()) for name, row in rows.items()}
    assert wrong == sorted(longest.values(), reverse=True)[:2]
    (lost,) = (shot for shot in SHOTS if shot.kind == "lost")
    shares = [found.localized for row in rows.values() for found in row.drives.values()]
    assert rows[lost.world].drives[lost.drive].localized == min(shares)


def test_the_page_has_all_of_them_in_pictures_of_a_megabyte_at_most():
    pictures = sorted((HOME / "docs/images").glob("twin-*.gif")) + sorted((HOME / "docs/images").glob("failure-*.gif"))
    kinds = {shot.world: "twin" if shot.kind == "twin" else "failure" for shot in SHOTS}
    assert {path.stem for path in pictures} == {f"{kind}-{world}" for world, kind in kinds.items()}
    for path in pictures:
        assert f"](images/{path.name})" in GALLERY
        assert path.stat().st_size <= 1_000_000
