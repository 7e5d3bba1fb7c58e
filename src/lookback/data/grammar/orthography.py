"""French spelling across words: elision, contraction, forms that a following vowel asks for. The alignment goes along.

    le homme → l' homme      ce homme → cet homme      sa école → son école      beau/bel ami → bel ami
    de le jardin → du jardin      à les écoles → aux écoles      de des amis → d' amis      si il → s' il

English needs one thing of the kind: a → an.
"""

_ASPIRATED = ("héros", "hibou")  # the h that forbids elision; every other h of the lexicon is mute
_VOWELS = tuple("aeiouhâàéèêëîïôûœ")
_ELIDED = {"le": "l'", "la": "l'", "je": "j'", "ne": "n'", "de": "d'", "que": "qu'", "me": "m'"}
_BEFORE_VOWEL = _ELIDED | {"ce": "cet", "ma": "mon", "sa": "son"}
_CONTRACTED = {
    "de": {"le": "du", "les": "des", "des": "de", "de": "de"},
    "à": {"le": "au", "les": "aux"},
}


def starts_with_vowel(word: str) -> bool:
    """Whether a French word makes the word before it elide."""
    return word.startswith(_VOWELS) and not word.startswith(_ASPIRATED)


def spell_french(words: list[str], links: list[list[int]]) -> tuple[list[str], list[list[int]]]:
    """Spell a French sentence; `links[j]`, the source positions of word j, are united where two words become one.

    It goes from the last word to the first, since a form depends on the word after it as that is finally spelt.
    """
    spelt: list[str] = []
    united: list[list[int]] = []
    for word, places in zip(reversed(words), reversed(links), strict=True):
        following = spelt[-1] if spelt else ""
        plain, _, before_vowel = word.partition("/")
        contracted = _CONTRACTED.get(plain, {}).get(following)
        if contracted:
            spelt.pop()
            plain, places = contracted, places + united.pop()
            following = spelt[-1] if spelt else ""
        if plain == "si" and following in ("il", "ils"):
            plain = "s'"
        elif starts_with_vowel(following):
            plain = before_vowel or _BEFORE_VOWEL.get(plain, plain)
        spelt.append(plain)
        united.append(places)
    return spelt[::-1], united[::-1]


def spell_english(words: list[str]) -> list[str]:
    """Write `an` for `a` in front of a vowel."""
    return [
        "an" if word == "a" and after.startswith(tuple("aeiou")) else word
        for word, after in zip(words, [*words[1:], ""], strict=True)
    ]
