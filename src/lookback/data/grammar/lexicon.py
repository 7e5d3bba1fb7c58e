"""The words: compact tables in order of importance, and the forms that the rules ask for.

The medium lexicon ends at the line of each table, so what stands first shows every phenomenon: both genders, a vowel or
a mute h for elision, an irregular plural. Kinds say who may do what to whom.
"""

# How much is kept of what stands above the line; None keeps the whole table.
SIZES = {"small": 0.5, "medium": 1.0, "full": None}

GENDERS = ("m", "f")
PERSONS = ("1s", "1p", "2p", "3s", "3p")  # French persons that English tells apart: `you` is always the polite `vous`
KINDS = {"p": "person", "a": "animal", "t": "thing", "l": "place"}

# English | French | gender. A slash gives a plural that the regular endings do not.
NOUNS = {
    "person": """
        doctor          | docteur          | m
        queen           | reine            | f
        man/men         | homme            | m
        actress         | actrice          | f
        child/children  | enfant           | m
        woman/women     | femme            | f
        king            | roi              | m
        hero/heroes     | héros            | m
        nurse           | infirmière       | f
        friend          | ami              | m
        aunt            | tante            | f
        teacher         | professeur       | m
        ---
        singer          | chanteuse        | f
        neighbour       | voisin           | m
        baker           | boulangère       | f
        farmer          | fermier          | m
        princess        | princesse        | f
        soldier         | soldat           | m
        dancer          | danseuse         | f
        student         | étudiant         | m
        witch           | sorcière         | f
        uncle           | oncle            | m
        writer          | écrivain         | m
        """,
    "animal": """
        dog             | chien            | m
        cow             | vache            | f
        horse           | cheval           | m
        hen             | poule            | f
        bird            | oiseau           | m
        owl             | hibou/hiboux     | m
        ---
        goat            | chèvre           | f
        cat             | chat             | m
        bee             | abeille          | f
        duck            | canard           | m
        spider          | araignée         | f
        mouse/mice      | souris           | f
        """,
    "thing": """
        book            | livre            | m
        key             | clé              | f
        hat             | chapeau          | m
        clock           | horloge          | f
        knife/knives    | couteau          | m
        letter          | lettre           | f
        egg             | œuf              | m
        flower          | fleur            | f
        picture         | tableau          | m
        chair           | chaise           | f
        ---
        umbrella        | parapluie        | m
        box             | boîte            | f
        coat            | manteau          | m
        lamp            | lampe            | f
        basket          | panier           | m
        ring            | bague            | f
        mirror          | miroir           | m
        bottle          | bouteille        | f
        toy             | jouet            | m
        map             | carte            | f
        bag             | sac              | m
        apple           | pomme            | f
        """,
    "place": """
        garden          | jardin           | m
        house           | maison           | f
        village         | village          | m
        school          | école            | f
        hotel           | hôtel            | m
        church          | église           | f
        castle          | château          | m
        library         | bibliothèque     | f
        hospital        | hôpital          | m
        station         | gare             | f
        ---
        town            | ville            | f
        museum          | musée            | m
        cinema          | cinéma           | m
        farm            | ferme            | f
        theatre         | théâtre          | m
        factory         | usine            | f
        palace          | palais           | m
        kitchen         | cuisine          | f
        shop            | magasin          | m
        bakery          | boulangerie      | f
        """,
}

# English | French masculine, feminine | kinds | places: `opinion` and `size` before the noun, `after` it in French,
# `state` after *to be*. A form after a slash replaces the masculine singular in front of a vowel. Some lack a place: a
# *grand homme* is a great man, a *petit ami* a boyfriend, nobody is *joli*, and *bonne femme* is no praise. What is new
# is *neuf* after *to be* and *nouveau* before a noun.
ADJECTIVES = """
        small           | petit petite              | atl  | size state
        red             | rouge rouge               | t    | after state
        beautiful       | beau/bel belle            | patl | opinion state
        happy           | heureux heureuse          | pa   | after state
        old             | vieux/vieil vieille       | patl | size state
        white           | blanc blanche             | atl  | after state
        tall            | grand grande              | p    | state
        tired           | fatigué fatiguée          | pa   | after state
        quiet           | tranquille tranquille     | l    | after state
        big             | grand grande              | atl  | size state
        famous          | célèbre célèbre           | pl   | after state
        new             | nouveau/nouvel nouvelle   | tl   | size
        new             | neuf neuve                | tl   | state
        black           | noir noire                | at   | after state
        good            | bon bonne                 | atl  | opinion state
        modern          | moderne moderne           | tl   | after state
        short           | petit petite              | p    | state
        young           | jeune jeune               | pa   | size state
        sad             | triste triste             | pa   | after state
        heavy           | lourd lourde              | t    | after state
        pretty          | joli jolie                | atl  | opinion state
        rich            | riche riche               | p    | after state
        empty           | vide vide                 | l    | after state
        green           | vert verte                | t    | after state
        ---
        kind            | gentil gentille           | p    | after state
        proud           | fier fière                | p    | after state
        dark            | sombre sombre             | l    | after state
        brown           | brun brune                | a    | after state
        calm            | calme calme               | p    | after state
        grey            | gris grise                | at   | after state
        strong          | fort forte                | pa   | after state
        yellow          | jaune jaune               | t    | after state
        serious         | sérieux sérieuse          | p    | after state
        broken          | cassé cassée              | t    | after state
        clean           | propre propre             | tl   | after state
        """

# An opinion and a size before one noun, where French says so: a *beau petit livre*, a *bon vieux chien*, a *belle jeune
# actrice*; no *joli vieux château*. The kinds are those that both words go with.
OPINION_SIZE = """
        beautiful small
        beautiful big
        pretty small
        good old
        good small
        beautiful young
        """

# English base (past, participle where irregular) | French infinitive (je, il, nous, vous, ils, participle where
# irregular) | kinds of subject | kinds of object. The classes are those that the rules name.
VERBS = {
    "Transitive": """
        see saw seen         | voir vois voit voyons voyez voient vu                                | pa | patl
        love                 | aimer                                                                | pa | patl
        help                 | aider                                                                | p  | p
        buy bought           | acheter achète achète achetons achetez achètent acheté               | p  | atl
        look_for             | chercher                                                             | pa | patl
        wait_for             | attendre attends attend attendons attendez attendent attendu         | pa | pat
        find found           | trouver                                                              | pa | patl
        choose chose chosen  | choisir choisis choisit choisissons choisissez choisissent choisi    | p  | patl
        invite               | inviter                                                              | p  | p
        watch                | regarder                                                             | pa | patl
        ---
        visit                | visiter                                                              | p  | l
        sell sold            | vendre vends vend vendons vendez vendent vendu                       | p  | atl
        follow               | suivre suis suit suivons suivez suivent suivi                        | pa | pa
        hide hid hidden      | cacher                                                               | p  | t
        listen_to            | écouter                                                              | pa | p
        lose lost            | perdre perds perd perdons perdez perdent perdu                       | p  | t
        thank                | remercier                                                            | p  | p
        forget forgot forgotten | oublier                                                            | p  | patl
        admire               | admirer                                                              | p  | patl
        take took taken      | prendre prends prend prenons prenez prennent pris                    | p  | t
        """,
    "Resting": """
        sleep slept          | dormir dors dort dormons dormez dorment dormi                        | pa |
        work                 | travailler                                                           | p  |
        sing sang            | chanter                                                              | pa |
        ---
        dance                | danser                                                               | pa |
        laugh                | rire ris rit rions riez rient ri                                     | p  |
        walk                 | marcher                                                              | pa |
        smile                | sourire souris sourit sourions souriez sourient souri                | p  |
        cry                  | pleurer                                                              | p  |
        """,
    "Moving": """
        arrive               | arriver                                                              | pa |
        leave left           | partir pars part partons partez partent parti                        | pa |
        fall fell            | tomber                                                               | pa |
        ---
        stay                 | rester                                                               | pa |
        """,
    "Going": """
        go went              | aller vais va allons allez vont allé                                 | pa |
        return               | retourner                                                            | pa |
        """,
    "Coming": """
        come came            | venir viens vient venons venez viennent venu                         | pa |
        """,
    "Giving": """
        give gave            | donner                                                               | p  |
        show                 | montrer                                                              | p  |
        ---
        bring brought        | apporter                                                             | p  |
        send sent            | envoyer envoie envoie envoyons envoyez envoient envoyé               | p  |
        lend lent            | prêter                                                               | p  |
        """,
    "Talking": """
        talk                 | parler                                                               | p  |
        write wrote          | écrire écris écrit écrivons écrivez écrivent écrit                   | p  |
        ---
        reply                | répondre réponds répond répondons répondez répondent répondu         | p  |
        lie                  | mentir mens ment mentons mentez mentent menti                        | p  |
        """,
    "Thinking": """
        think thought        | penser                                                               | p  |
        know knew            | savoir sais sait savons savez savent su                              | p  |
        say said             | dire dis dit disons dites disent dit                                 | p  |
        ---
        hope                 | espérer espère espère espérons espérez espèrent espéré               | p  |
        believe              | croire crois croit croyons croyez croient cru                        | p  |
        """,
}

# Words of the closed classes: constituent and its features, then English | French, a weight after the star.
CLOSED = {
    "Definite,m,3s": "the*9 | le; this | ce; my | mon; his | son; her | son; our | notre; your | votre; their | leur",
    "Definite,f,3s": "the*9 | la; this | cette; my | ma; his | sa; her | sa; our | notre; your | votre; their | leur",
    "Definite,m,3p": "the*9 | les; these | ces; my | mes; his | ses; her | ses; our | nos; your | vos; their | leurs",
    "Definite,f,3p": "the*9 | les; these | ces; my | mes; his | ses; her | ses; our | nos; your | vos; their | leurs",
    "Indefinite,m,3s": "a*4 | un; each | chaque",
    "Indefinite,f,3s": "a*4 | une; each | chaque",
    "Indefinite,m,3p": "two | deux; three | trois; several | plusieurs",
    "Indefinite,f,3p": "two | deux; three | trois; several | plusieurs",
    "Pronoun,1s,m": "i | je",
    "Pronoun,1p,m": "we | nous",
    "Pronoun,2p,m": "you | vous",
    "Pronoun,3s,m": "he | il",
    "Pronoun,3s,f": "she | elle",
    "Pronoun,3p,m": "they | ils",
    "Tonic": "me | moi; you | vous; him | lui; her | elle; us | nous; them | eux",
    "Never": "never | jamais; no longer | plus",
    "Often": "often | souvent; always | toujours; rarely | rarement",
    "Daypart": "morning | matin; evening | soir; afternoon | après-midi",
    "Time,present": "now | maintenant; tonight | ce soir",
    "Time,past": "yesterday | hier",
    "It,m,3s": "it | le",
    "It,f,3s": "it | la",
    "It,m,3p": "them | les",
    "It,f,3p": "them | les",
    "ItIs,3s": "it is | c' est",
    "ItIs,3p": "it is | ce sont",
    "Opening,present": "today | aujourd'hui; sometimes | parfois",
    "Opening,past": "yesterday | hier; that day | ce jour-là",
    "Preposition,person": "with | avec; near | près de; behind | derrière; in front of | devant",
    "Preposition,thing": "near | près de; on | sur; under | sous",
    "Preposition,place": "in*2 | dans; near | près de; behind | derrière; in front of | devant",
}

# Object clitics: English, French as direct and as indirect object, gender and person that a participle agrees with.
CLITICS = (
    ("me", "me", "me", "m", "1s"),
    ("you", "vous", "vous", "m", "2p"),
    ("him", "le", "lui", "m", "3s"),
    ("her", "la", "lui", "f", "3s"),
    ("us", "nous", "nous", "m", "1p"),
    ("them", "les", "leur", "m", "3p"),
)

ENGLISH = ("do", "be", "was", "want")
# Function words that a rule inflects in place, as in `do[p]`: one form for each of PERSONS.
PARADIGMS = {
    "do": "do do do does do",
    "be": "am are are is are",
    "was": "was were were was were",
    "want": "want want want wants want",
    "avoir": "ai avons avez a ont",
    "être": "suis sommes êtes est sont",
    "étais": "étais étions étiez était étaient",
    "aller": "vais allons allez va vont",
    "vouloir": "veux voulons voulez veut veulent",
    "pouvoir": "peux pouvons pouvez peut peuvent",
    "devoir": "dois devons devez doit doivent",
}
