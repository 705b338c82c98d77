"""Online bin packing by best fit."""


class Packing:
    """The bins of one packing, by the space that is left in them."""

    def __init__(self, capacity):
        self.capacity = capacity
        self.bins = 0
        self.by_space = {}

    def place(self, size):
        """Put the next item into a bin, and return the bin's number; a new bin has the next number."""
        spaces = sorted(space for space in self.by_space if space >= size)
        space = choose(size, spaces, self.capacity)
        if space == self.capacity:
            chosen, self.bins = self.bins, self.bins + 1
        else:
            chosen = self.by_space[space].pop()
            if not self.by_space[space]:
                del self.by_space[space]
        if space > size:
            self.by_space.setdefault(space - size, []).append(chosen)
        return chosen


def choose(size, spaces, capacity):
    """One of the spaces of open bins into which the item fits, least first, or the capacity for a new bin."""
    return spaces[0] if spaces else capacity
