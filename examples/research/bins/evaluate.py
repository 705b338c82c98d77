"""Online bin packing: how many bins a rule needs beyond the lower bound, in percent."""

from random import Random

CAPACITY = 100
SCALE, SHAPE = 45, 3


def score(artifact, _seed, items):
    """The mean over instances; the rule sees an item when it has placed those before."""
    excesses = [excess_of(artifact.Packing(CAPACITY).place, sizes_of(item)) for item in items]
    return {"excess": sum(excesses) / len(excesses), "items": excesses}


def sizes_of(item):
    """Whole numbers from a Weibull distribution, as FunSearch's."""
    draw = Random(f"{item['length']}/{item['seed']}")
    sizes = (round(draw.weibullvariate(SCALE, SHAPE)) for _ in range(item["length"]))
    return [min(CAPACITY, max(1, size)) for size in sizes]


def excess_of(place, sizes):
    """Bins beyond the sum of sizes over the capacity; a bin that is too full is an error."""
    loads = []
    for size in sizes:
        number = place(size)
        if type(number) is not int or not 0 <= number <= len(loads):
            raise ValueError("a bin is the number of one that is open, or the next number")
        if number == len(loads):
            loads.append(0)
        loads[number] += size
        if loads[number] > CAPACITY:
            raise ValueError("a bin is too full")
    least = -(-sum(sizes) // CAPACITY)
    return 100 * (len(loads) - least) / least
