"""How likely each constituent is to yield so many English words: the table behind sentences of an exact length.

The probability that a constituent yields n words is the sum over its rules of the rule's weight times the ways to share
out among its parts the words that the rule does not put down itself. Most constituents differ in their words but not
in their lengths (*he arrives*, *she arrives*), so they are first sorted into shapes, alike in all rules up to the
shapes of the parts; the table is over shapes.
"""

from lookback.data.grammar.inflection import Entry
from lookback.data.grammar.notation import Rule

_Option = tuple[float, int, tuple[int, ...]]  # what of a rule decides on length: weight, own words, shapes of the parts


class Lengths:
    """The distribution over lengths of every constituent.

    Args:
        words: the words of each constituent that is one word, or a fixed phrase.
        rules: the rules of every other constituent; their weights sum to 1.
    """

    def __init__(self, words: dict[str, list[Entry]], rules: dict[str, list[Rule]]) -> None:
        self._words, self._rules = words, rules
        self._shapes: dict[str, int] = {}
        self._numbers: dict[tuple, int] = {}
        self._options: list[tuple[_Option, ...]] = []  # of each shape
        self._one: dict[tuple[int, int], float] = {}
        self._many: dict[tuple[tuple[int, ...], int], float] = {}

    def shapes(self, symbols: tuple[str, ...]) -> tuple[int, ...]:
        """The shapes of some constituents: what the other methods speak of."""
        return tuple(map(self._shape, symbols))

    def probability(self, shapes: tuple[int, ...], length: int) -> float:
        """Probability that constituents of these shapes together yield `length` words."""
        if not shapes or length < len(shapes):
            return float(not shapes and length == 0)
        if len(shapes) == 1:
            return self._inside(shapes[0], length)
        key = shapes, length
        if key not in self._many:
            self._many[key] = sum(self.shares(shapes, length))
        return self._many[key]

    def shares(self, shapes: tuple[int, ...], length: int) -> list[float]:
        """Probability that the first constituent yields 1, 2, … words, and the others the rest of `length`."""
        first, rest = shapes[0], shapes[1:]
        return [
            self._inside(first, n) and self._inside(first, n) * self.probability(rest, length - n)
            for n in range(1, length - len(rest) + 1)
        ]

    def _inside(self, shape: int, length: int) -> float:
        key = shape, length
        if key not in self._one:
            options = self._options[shape]
            self._one[key] = sum(weight * self.probability(parts, length - own) for weight, own, parts in options)
        return self._one[key]

    def _shape(self, symbol: str) -> int:
        if symbol not in self._shapes:
            if symbol in self._words:
                total = sum(word.weight for word in self._words[symbol])
                rules: list[_Option] = [(word.weight / total, len(word.source), ()) for word in self._words[symbol]]
                self._shapes[symbol] = self._number(_merged(rules))
            else:
                # What contains itself (a sentence in a sentence) needs a number before its rules are known, of its own.
                number = self._shapes[symbol] = self._number((symbol,))
                rules = [(rule.weight, rule.words, self._sorted_shapes(rule)) for rule in self._rules[symbol]]
                options = _merged(rules)
                self._options[number] = options
                if not any(number in parts for _, _, parts in options):
                    self._shapes[symbol] = self._number(options)
        return self._shapes[symbol]

    def _sorted_shapes(self, rule: Rule) -> tuple[int, ...]:
        return tuple(sorted(self.shapes(rule.children)))  # their order has no say in the length

    def _number(self, options: tuple) -> int:
        if options not in self._numbers:
            self._numbers[options] = len(self._options)
            self._options.append(options)
        return self._numbers[options]


def _merged(rules: list[_Option]) -> tuple[_Option, ...]:
    """Rules of one length structure as one rule with the sum of their weights, in a fixed order."""
    total: dict[tuple[int, tuple[int, ...]], float] = {}
    for weight, own, parts in rules:
        total[own, parts] = total.get((own, parts), 0.0) + weight
    return tuple(sorted((weight, own, parts) for (own, parts), weight in total.items()))
