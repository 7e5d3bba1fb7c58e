"""The grammar, a synchronous rule a line: head | weight | English | French | word links.

How to read a line. `NP[g,q,k,d]` is a constituent with features: names with a capital are constituents, all else is
words. On the French side a constituent has its name alone; two of a kind are told apart by a digit (`NP1`, `to1`).
Words are linked in the last column (`do-V`: *do* is aligned to every word of V), but the only word of each side needs
no saying. `do[p]` is a word inflected in place. Weights are shares within a head. A feature of one letter is a variable
and takes every value:

    p        person: 1s 1p 2p 3s 3p             c        the same, of an object clitic
    q, r, s  third persons: 3s 3p               g, h, j  gender: m f
    k, o     kind: person animal thing place    a        kinds that act: person animal
    i        kinds that do not: thing place     t, u     tense: present past
    d        how deep noun phrases and clauses may still nest, 0 to 2; `d-` is one less, and no rule where there is none
    w        whether a clause may still hold an expression of time (free) or holds one already (taken)

What English leaves open is closed here, so that the French is a function of the English. A relative clause stands right
after its noun; coordinated parts have none, but for the last verb phrase; `of` and prepositions take no coordination;
`you` is one man, politely addressed, `i` a man, `we` and `they` men among others; no noun becomes `it`. A clause says
once at most when or how often: *yesterday*, *often*, *never*, *in the morning*. A subordinate clause counts for itself.
"""

DOMAINS = {
    **dict.fromkeys("pc", ("1s", "1p", "2p", "3s", "3p")),
    **dict.fromkeys("qrs", ("3s", "3p")),
    **dict.fromkeys("ghj", ("m", "f")),
    **dict.fromkeys("ko", ("person", "animal", "thing", "place")),
    "a": ("person", "animal"),
    "i": ("thing", "place"),
    **dict.fromkeys("tu", ("present", "past")),
    "d": ("0", "1", "2"),
    "w": ("free", "taken"),
}

RULES = """
# Sentences: clauses in a row, all in one tense.
Root | 1 | Sentence[t] . | Sentence .

Sentence[t] | 4 | Clause[t]                    | Clause
Sentence[t] | 4 | Clause[t] , and Sentence[t]  | Clause , et Sentence   | ,-, and-et
Sentence[t] | 2 | Clause[t] , but Sentence[t]  | Clause , mais Sentence | ,-, but-mais
Sentence[t] | 1 | Clause[t] , so Sentence[t]   | Clause , donc Sentence | ,-, so-donc
Sentence[t] | 1 | Clause[t] , then Sentence[t] | Clause , puis Sentence | ,-, then-puis
Sentence[t] | 1 | Clause[t] ; Sentence[t]      | Clause ; Sentence

Clause[t] | 6 | Core[t,2,free]                          | Core
Clause[t] | 1 | Opening[t] , Core[t,2,taken]            | Opening , Core
Clause[t] | 2 | Core1[t,2,free] because Core2[t,2,free] | Core1 parce que Core2 | because-parce because-que
Clause[t] | 1 | Core1[t,2,free] when Core2[t,2,free]    | Core1 quand Core2
Clause[t] | 1 | when Core1[t,2,free] , Core2[t,2,free]  | quand Core1 , Core2   | when-quand ,-,

Clause[present] | 1 | Core1[present,2,free] while Core2[present,2,free] | Core1 pendant que Core2 | while-pendant while-que

Clause[present] | 1 | if Core1[present,2,free] , Core2[present,2,free] | si Core1 , Core2 | if-si ,-,

Core[t,d,w]       | 6 | Subject[p,g,a,d] Predicate[t,p,g,a,d,w]                              | Subject Predicate
Core[t,d,w]       | 2 | Subject[q,g,i,d] State[t,q,g,i,d,w]                                  | Subject State
Core[present,d,w] | 2 | Subject[p,g,person,d] Thinking[finite,p,person] that Core[u,d-,free] | Subject Thinking que Core

# Subjects. Coordinated ones are masculine unless all are feminine.
Subject[p,g,person,d] | 6   | Pronoun[p,g]                  | Pronoun
Subject[q,g,k,d]      | 6   | NP[g,q,k,d]                   | NP
Subject[3p,f,k,d]     | .5  | NP1[f,q,k,0] and NP2[f,r,k,0] | NP1 et NP2
Subject[3p,m,k,d]     | .25 | NP1[m,q,k,0] and NP2[h,r,k,0] | NP1 et NP2
Subject[3p,m,k,d]     | .25 | NP1[f,q,k,0] and NP2[m,r,k,0] | NP1 et NP2

# Objects. A negated verb turns `a` and `any` into `de`.
Object[plain,k,d]   | 8  | Any[k,d]                                     | Any
Object[plain,k,2]   | 1  | NP1[g,q,k,0] and NP2[h,r,k,0]                | NP1 et NP2
Object[plain,k,2]   | .5 | NP1[g,q,k,0] , NP2[h,r,k,0] and NP3[j,s,k,0] | NP1 , NP2 et NP3 | ,-, and-et
Object[negated,k,d] | 5  | Definite[h,r] Nominal[h,r,k,d]               | Definite Nominal
Object[negated,k,d] | 2  | a Nominal[h,3s,k,d]                          | de Nominal
Object[negated,k,d] | 2  | any Nominal[h,3p,k,d]                        | de Nominal

# Noun phrases.
Any[k,d]    | 1 | NP[h,r,k,d]                      | NP
NP[g,q,k,d] | 7 | Definite[g,q] Nominal[g,q,k,d]   | Definite Nominal
NP[g,q,k,d] | 2 | Indefinite[g,q] Nominal[g,q,k,d] | Indefinite Nominal

NP[g,q,k,d] | 1  | the Described[g,q,k] of Any[person,d-] | le[g,q] Described de Any   | the-le of-de
NP[g,q,i,d] | .5 | the Described[g,q,i] of Any[place,d-]  | le[g,q] Described de Any   | the-le of-de
NP[g,q,k,d] | 1  | Owner 's Described[g,q,k]              | le[g,q] Described de Owner | 's-le 's-de
Owner       | 1  | Definite[h,3s] Noun[h,3s,person]       | Definite Noun

NP[g,3p,k,d] | .7 | some Unpreceded[g,3p,k]                   | des Unpreceded
NP[g,3p,k,d] | .5 | some Preceding[g,3p,k] Unpreceded[g,3p,k] | de Preceding Unpreceded
NP[g,3p,k,d] | .5 | many Nominal[g,3p,k,d]                    | beaucoup de Nominal     | many-beaucoup many-de
NP[g,3p,k,d] | .5 | all the Nominal[g,3p,k,d]                 | tout[g] les Nominal     | all-tout the-les

Nominal[g,q,k,d]      | 9 | Described[g,q,k]                        | Described
Nominal[g,q,k,d]      | 3 | Described[g,q,k] Relative[g,q,k,d-]     | Described Relative
Nominal[g,q,k,d]      | 2 | Described[g,q,k] Where[k,d-]            | Described Where
Nominal[g,q,person,d] | 1 | Described[g,q,person] with Any[thing,0] | Described avec Any

Described[g,q,k]  | 6  | Unpreceded[g,q,k]                  | Unpreceded
Described[g,q,k]  | 3  | Preceding[g,q,k] Unpreceded[g,q,k] | Preceding Unpreceded
Unpreceded[g,q,k] | 5  | Noun[g,q,k]                        | Noun
Unpreceded[g,q,k] | 2  | After[g,q,k] Noun[g,q,k]           | Noun After
Preceding[g,q,k]  | 2  | Size[g,q,k]                        | Size
Preceding[g,q,k]  | 1  | Opinion[g,q,k]                     | Opinion
Preceding[g,q,k]  | .7 | OpinionSize[g,q,k]                 | OpinionSize

# Relative clauses: qui for the subject, où for a place; que for the object is among the verb rules.
Relative[g,q,person,d] | 4 | who Verbal[t,q,g,person,d,free]               | qui Verbal
Relative[g,q,animal,d] | 4 | that Verbal[t,q,g,animal,d,free]              | qui Verbal
Relative[g,q,i,d]      | 3 | that State[t,q,g,i,d,free]                    | qui State
Relative[g,q,place,d]  | 2 | where Subject[p,h,a,0] Verbal[t,p,h,a,d,free] | où Subject Verbal

# Predicates of those who act.
Predicate[t,p,g,a,d,w] | 7 | Phrase[t,p,g,a,d,w]                               | Phrase
Predicate[t,p,g,a,d,w] | 2 | Phrase1[t,p,g,a,0,taken] and Phrase2[t,p,g,a,d,w] | Phrase1 et Phrase2
Phrase[t,p,g,a,d,w]    | 8 | Verbal[t,p,g,a,d,w]                               | Verbal
Phrase[t,p,g,a,d,w]    | 1 | Doing[t,p,g,a,d,w] Where[a,d]                     | Doing Where
Verbal[t,p,g,a,d,w]    | 4 | Doing[t,p,g,a,d,w]                                | Doing
Verbal[t,p,g,a,d,w]    | 1 | State[t,p,g,a,d,w]                                | State
Doing[t,p,g,a,d,w]     | 2 | Acting[t,p,a,d,w]                                 | Acting

When[t]    | 3 | Time[t]        | Time
When[t]    | 2 | in the Daypart | le[m,3s] Daypart    | in-le the-le
When[past] | 1 | last week      | la semaine dernière | last-dernière week-la week-semaine
When[past] | 1 | last night     | la nuit dernière    | last-dernière night-la night-nuit

# States: adjectives, places, and what others do to one.
State[t,p,g,k,d,w]    | 4 | Be[t,p] Adjective[p,g,k]                        | Be Adjective
State[t,p,g,k,d,w]    | 1 | Be[t,p] Adjective1[p,g,k] and Adjective2[p,g,k] | Be Adjective1 et Adjective2
State[t,p,g,k,d,free] | 1 | Be[t,p] Often Adjective[p,g,k]                  | Be Often Adjective
State[t,p,g,k,d,w]    | 2 | Be[t,p] Where[k,d]                              | Be Where
State[t,p,g,k,d,w]    | 2 | Been[t,p] Passive[p,g,k] by Any[person,d]       | Been Passive par Any

State[t,p,g,k,d,free] | 1 | Be[t,p] Never Adjective[p,g,k] | ne Be Never Adjective | Never-ne
State[t,p,g,k,d,w]    | 2 | Be[t,p] not Adjective[p,g,k]   | ne Be pas Adjective   | not-ne not-pas
State[t,p,g,k,d,w]    | 1 | Be[t,p] not Where[k,d]         | ne Be pas Where       | not-ne not-pas

Be[present,p]   | 1 | be[p]  | être[p]
Be[past,p]      | 1 | was[p] | étais[p]
Been[present,p] | 1 | be[p]  | être[p]
Been[past,p]    | 1 | was[p] | avoir[p] été | was-avoir was-été

# Places.
Where[a,d]     | 1 | Near[d]                           | Near
Where[thing,d] | 1 | Preposition[thing] Any[thing,d]   | Preposition Any
Where[thing,d] | 2 | Preposition[place] Any[place,d]   | Preposition Any
Where[place,d] | 1 | near Any[place,d]                 | près de Any       | near-près near-de
Where[place,d] | 1 | behind Any[place,d]               | derrière Any
Near[d]        | 3 | Preposition[place] Any[place,d]   | Preposition Any
Near[d]        | 2 | Preposition[person] Any[person,d] | Preposition Any
Near[d]        | 1 | Preposition[person] Tonic         | Preposition Tonic
"""  # noqa: E501

# What stands around a verb group: head | weight | verb class | auxiliary | English | French | links. FRAMES write the
# group out at `@`, in French with its clitic in brackets. `être` has its participle agree with the subject, `avoir`
# with what its brackets say, if anything. `*` is the frame's polarity.
VERB_RULES = """
Acting[t,p,a,d,w] | 5 | Transitive[a,o]      | avoir      | @ Object[*,o,d] | @() Object |
Acting[t,p,a,d,w] | 4 | Transitive[a,person] | avoir[h,c] | @ Clitic[p,h,c] | @(Clitic)  |

Acting[t,p,a,d,w] | 1.3 | Giving[a]  | avoir | @ Object[*,thing,0] to Any[person,d] | @() Object à Any | to-à
Acting[t,p,a,d,w] | 1.3 | Giving[a]  | avoir | @ Object[*,thing,0] to Dative[p]     | @(Dative) Object | to-Dative
Acting[t,p,a,d,w] | 1.2 | Talking[a] | avoir | @ to Any[person,d]                   | @() à Any        | to-à
Acting[t,p,a,d,w] | 1.2 | Talking[a] | avoir | @ to Dative[p]                       | @(Dative)        | to-Dative
Acting[t,p,a,d,w] | 3   | Resting[a] | avoir | @                                    | @()              |

Doing[t,p,g,a,d,w] | .5 | Moving[a] | être | @                   | @()        |
Doing[t,p,g,a,d,w] | .3 | Going[a]  | être | @ to Any[place,d]   | @() à Any  | to-à
Doing[t,p,g,a,d,w] | .2 | Coming[a] | être | @ from Any[place,d] | @() de Any | from-de
"""

# What `dependencies=local` has besides: French in nearly the order of the English.
LOCAL_RULES = """
Phrase[t,p,g,a,d,free] | 1 | Doing[t,p,g,a,d,taken] When[t] | Doing When
"""

LOCAL_VERB_RULES = """
Relative[g,q,person,d] | 3 | Transitive[a,person] | avoir[g,q] | whom Subject[p,h,a,0] @ | que Subject @() | whom-que
Relative[g,q,animal,d] | 3 | Transitive[a,animal] | avoir[g,q] | that Subject[p,h,a,0] @ | que Subject @() | that-que
Relative[g,q,i,d]      | 3 | Transitive[a,i]      | avoir[g,q] | that Subject[p,h,a,0] @ | que Subject @() | that-que
"""

# What `dependencies=long` has instead. In French an expression of time goes in front of its clause, and a reason behind
# what it explains; the subject of a relative clause with `que` stands behind its verb, unless it is a pronoun. An
# object may be called first and taken up by a pronoun, or be set off by `it is`. Subjects have a relative clause more
# often, so that what agrees with them is far away. Each is good French for its English, and the only French for it
# here.
LONG_RULES = """
Clause[t] | 2 | Subject[p,g,a,2] Predicate[t,p,g,a,2,taken] When[t] | When , Subject Predicate | When-,
Clause[t] | 1 | Subject[q,g,i,2] State[t,q,g,i,2,taken] When[t]     | When , Subject State     | When-,
Clause[t] | 2 | because Core1[t,2,free] , Core2[t,2,free]           | Core2 parce que Core1    | because-parce because-que ,-parce

Core[t,d,w] | 5 | Subject[q,g,k,d] State[t,q,g,k,d,w] | Subject State

Sentence[t]      | 20 | Clause[t]                                         | Clause
Subject[q,g,k,2] | 20 | Definite[g,q] Described[g,q,k] Relative[g,q,k,2]  | Definite Described Relative
Called[g,q,k]    | 2  | Definite[g,q] Described[g,q,k]                    | Definite Described
Called[g,q,k]    | 3  | Definite[g,q] Described[g,q,k] Relative[g,q,k,1]  | Definite Described Relative
"""  # noqa: E501

# The relative clauses with `que`; then the object that is called first, and the one that is set off.
LONG_VERB_RULES = """
Relative[g,q,person,d] | 3 | Transitive[a,person]      | avoir[g,q] | whom NP[h,p,a,0] @   | que @() NP      | whom-que
Relative[g,q,animal,d] | 3 | Transitive[a,animal]      | avoir[g,q] | that NP[h,p,a,0] @   | que @() NP      | that-que
Relative[g,q,i,d]      | 3 | Transitive[a,i]           | avoir[g,q] | that NP[h,p,a,0] @   | que @() NP      | that-que
Relative[g,q,person,d] | 2 | Transitive[person,person] | avoir[g,q] | whom Pronoun[p,h] @  | que Pronoun @() | whom-que
Relative[g,q,animal,d] | 2 | Transitive[person,animal] | avoir[g,q] | that Pronoun[p,h] @  | que Pronoun @() | that-que
Relative[g,q,i,d]      | 2 | Transitive[person,i]      | avoir[g,q] | that Pronoun[p,h] @  | que Pronoun @() | that-que

Clause[t] | 3 | Transitive[a,i] | avoir[g,q] | Called[g,q,i] , Subject[p,h,a,0] @ It[g,q] | Called , Subject @(It) | ,-,

Clause[t] | 1 | Transitive[a,i] | avoir[g,q] | ItIs[q] Definite[g,q] Described[g,q,i] that NP[h,p,a,0] @ | ItIs Definite Described que @() NP | that-que
"""  # noqa: E501

# How a verb V stands in its group: tense | weight | polarity | time | English | French | links. C is the clitic, if
# any; A is what the participle agrees with; aux its auxiliary.
FRAMES = """
present | 8 | plain   | w    | V[finite,p]                   | C V                   |
present | 3 | negated | w    | do[p] not V[base,p]           | ne C V pas            | do-V not-ne not-pas
present | 1 | negated | free | Never V[finite,p]             | ne C V Never          | Never-ne
present | 1 | plain   | free | Often V[finite,p]             | C V Often             |
present | 1 | plain   | w    | can V[infinitive]             | pouvoir[p] C V        | can-pouvoir
present | 1 | negated | w    | cannot V[infinitive]          | ne pouvoir[p] pas C V | cannot-ne cannot-pouvoir cannot-pas
present | 1 | plain   | w    | must V[infinitive]            | devoir[p] C V         | must-devoir
present | 1 | plain   | w    | want[p] to1 V[infinitive]     | vouloir[p] C V        | want-vouloir to1-V
present | 1 | plain   | w    | be[p] going to1 V[infinitive] | aller[p] C V          | be-aller going-aller to1-V

past | 6 | plain   | w    | V[past,A]        | C aux[p] V           | V-aux
past | 3 | negated | w    | did not V[did,A] | ne C aux[p] pas V    | did-aux not-ne not-pas
past | 1 | negated | free | never V[past,A]  | ne C aux[p] jamais V | V-aux never-ne never-jamais
past | 1 | plain   | free | Often V[past,A]  | C aux[p] Often V     | V-aux
"""  # noqa: E501
