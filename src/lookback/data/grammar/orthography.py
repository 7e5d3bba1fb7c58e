"""French spelling across words: elision, contraction, and forms that a following vowel asks for. The word alignment goes along.

    le homme → l' homme      ce homme → cet homme      sa école → son école      beau/bel ami → bel ami
    de le jardin → du jardin      à les écoles → aux écoles      de des amis → d' amis      si il → s' il

English needs one thing of the kind: a → an.
"""

_ASPIRATED = ("héros", "hibou")  # the h that forbids elision; every other h of the lexicon is mute
_VOWELS = tuple("aeiouhâàéèêëîïôûœ")
_BEFORE_VOWEL = {
    "le": "l'", "la": "l'", "je": "j'", "ne": "n'", "de": "d'", "que": "qu'", "me": "m'",
    "ce": "cet", "ma": "mon", "sa": "son",
}
_CONTRACTIONS = {("de", "le"): "du", ("de", "les"): "des", ("de", "des"): "de", ("de", "de"): "de", ("à", "le"): "au", ("à", "les"): "aux"}


def starts_with_vowel(word: str) -> bool:
    """Whether a French word makes the word before it elide."""
    return word.startswith(_VOWELS) and not word.startswith(_ASPIRATED)


def spell_french(words: list[str], links: list[list[int]]) -> tuple[list[str], list[list[int]]]:
    """Spell a French sentence: `links[j]`, the source positions of word j, are united where two words contract into one.

    It goes from the last word to the first, since a form depends on the word after it as that is finally spelt.
    """
    spelt: list[str] = []
    united: list[list[int]] = []
    for word, places in zip(reversed(words), reversed(links), strict=True):
        following = spelt[-1] if spelt else ""
        plain, _, special = word.partition("/")
        if (plain, following) in _CONTRACTIONS:
            spelt.pop()
            places = places + united.pop()
            word = _CONTRACTIONS[plain, following]
            following = spelt[-1] if spelt else ""
            plain, special = word, ""
        if plain == "si" and following in ("il", "ils"):
            plain = "s'"
        elif starts_with_vowel(following):
            plain = special or _BEFORE_VOWEL.get(plain, plain)
        spelt.append(plain)
        united.append(places)
    return spelt[::-1], united[::-1]


def spell_english(words: list[str]) -> list[str]:
    """Write `an` for `a` in front of a vowel."""
    following = words[1:] + [""]
    return ["an" if word == "a" and after.startswith(tuple("aeiou")) else word for word, after in zip(words, following, strict=True)]
