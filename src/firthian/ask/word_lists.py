"""Word lists of published association tests, by name: two targets and two attributes each, as printed in the papers."""

from __future__ import annotations

from dataclasses import dataclass

from firthian.errors import FirthianError, suggest

_FLOWERS = """aster clover hyacinth marigold poppy azalea crocus iris orchid rose bluebell daffodil lilac pansy
tulip buttercup daisy lily peony violet carnation gladiola magnolia petunia zinnia"""
_INSECTS = """ant caterpillar flea locust spider bedbug centipede fly maggot tarantula bee cockroach gnat
mosquito termite beetle cricket hornet moth wasp blackfly dragonfly horsefly roach weevil"""
_INSTRUMENTS = """bagpipe cello guitar lute trombone banjo clarinet harmonica mandolin trumpet bassoon drum harp
oboe tuba bell fiddle harpsichord piano viola bongo flute horn saxophone violin"""
_WEAPONS = """arrow club gun missile spear axe dagger harpoon pistol sword blade dynamite hatchet rifle tank
bomb firearm knife shotgun teargas cannon grenade mace slingshot whip"""
_PLEASANT = """caress freedom health love peace cheer friend heaven loyal pleasure diamond gentle honest lucky
rainbow diploma gift honor miracle sunrise family happy laughter paradise vacation"""
_UNPLEASANT = """abuse crash filth murder sickness accident death grief poison stink assault disaster hatred
pollute tragedy divorce jail poverty ugly cancer kill rotten vomit agony prison"""
_MALE = "male man boy brother he him his son"
_FEMALE = "female woman girl sister she her hers daughter"


@dataclass(frozen=True)
class WordLists:
    """A published test: its source, and four named lists."""

    source: str
    targets: dict[str, list[str]]
    attributes: dict[str, list[str]]


def _lists(source: str, **named: str) -> WordLists:
    lists = [(name, words.split()) for name, words in named.items()]
    return WordLists(source, dict(lists[:2]), dict(lists[2:]))


_CALISKAN = "Caliskan, Bryson and Narayanan (2017), test {}"

LISTS = {
    "weat1": _lists(
        _CALISKAN.format(1), flowers=_FLOWERS, insects=_INSECTS, pleasant=_PLEASANT, unpleasant=_UNPLEASANT
    ),
    "weat2": _lists(
        _CALISKAN.format(2), instruments=_INSTRUMENTS, weapons=_WEAPONS, pleasant=_PLEASANT, unpleasant=_UNPLEASANT
    ),
    "weat6": _lists(
        _CALISKAN.format(6),
        male_names="john paul mike kevin steve greg jeff bill",
        female_names="amy joan lisa sarah diana kate ann donna",
        career="executive management professional corporation salary office business career",
        family="home parents children family cousins marriage wedding relatives",
    ),
    "weat7": _lists(
        _CALISKAN.format(7),
        math="math algebra geometry calculus equations computation numbers addition",
        arts="poetry art dance literature novel symphony drama sculpture",
        male=_MALE,
        female=_FEMALE,
    ),
    "weat8": _lists(
        _CALISKAN.format(8),
        science="science technology physics chemistry einstein nasa experiment astronomy",
        arts="poetry art shakespeare dance literature novel symphony drama",
        male="brother father uncle grandfather son he his him",
        female="sister mother aunt grandmother daughter she hers her",
    ),
}


def find_lists(name: str) -> WordLists:
    """Return a published test by its name.

    >>> find_lists("weat7").targets["math"][:2]
    ['math', 'algebra']
    """
    if name not in LISTS:
        raise FirthianError(f"there are no published lists named {name!r}", hint=suggest(name, LISTS))
    return LISTS[name]
