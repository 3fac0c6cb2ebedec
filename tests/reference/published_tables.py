"""Small tables printed in books and papers, as counts."""

import numpy as np
from numpy.typing import NDArray

#: Seven pathologists (A to G) say of 118 slides whether they show carcinoma (2) or not (1): how many slides got each
#: row of answers. Landis and Koch (1977), as printed by Agresti, Categorical Data Analysis (2002), table 13.1.
CARCINOMA = {
    "1111111": 34,
    "1111211": 2,
    "1211111": 6,
    "1211112": 1,
    "1211211": 4,
    "1211212": 5,
    "2111111": 2,
    "2121212": 1,
    "2211111": 2,
    "2211112": 1,
    "2211211": 2,
    "2211212": 7,
    "2211222": 1,
    "2212112": 1,
    "2212212": 2,
    "2212222": 3,
    "2221212": 13,
    "2221222": 5,
    "2222212": 10,
    "2222222": 16,
}

#: 319 students say whether they lied to avoid an exam, lied to avoid a paper, bought a paper, copied in an exam
#: (1 no, 2 yes). Dayton, Latent Class Scaling Analysis (1998).
CHEATING = {
    "1111": 207,
    "1112": 46,
    "1121": 7,
    "1122": 5,
    "1211": 13,
    "1212": 4,
    "1221": 1,
    "1222": 2,
    "2111": 10,
    "2112": 3,
    "2121": 1,
    "2122": 2,
    "2211": 11,
    "2212": 4,
    "2221": 1,
    "2222": 2,
}

#: Velocities of 82 galaxies in km/s: Postman, Huchra and Geller, The Astronomical Journal 92 (1986), as printed by
#: Roeder, JASA 85 (1990); the 78th is 26690 in the version that is in use.
GALAXIES = np.array(
    [
        *(9172, 9350, 9483, 9558, 9775, 10227, 10406, 16084, 16170, 18419, 18552, 18600, 18927, 19052, 19070, 19330),
        *(19343, 19349, 19440, 19473, 19529, 19541, 19547, 19663, 19846, 19856, 19863, 19914, 19918, 19973, 19989),
        *(20166, 20175, 20179, 20196, 20215, 20221, 20415, 20629, 20795, 20821, 20846, 20875, 20986, 21137, 21492),
        *(21701, 21814, 21921, 21960, 22185, 22209, 22242, 22249, 22314, 22374, 22495, 22746, 22747, 22888, 22914),
        *(23206, 23241, 23263, 23484, 23538, 23542, 23666, 23706, 23711, 24129, 24285, 24289, 24366, 24717, 24990),
        *(25633, 26690, 26995, 32065, 32789, 34279),
    ],
    dtype=np.float64,
)


def answers_and_counts(table: dict[str, int]) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """The different rows of a table, and how often each occurs."""
    answers = np.array([[int(digit) for digit in row] for row in table])
    return answers, np.array(list(table.values()), dtype=np.float64)


def all_rows(table: dict[str, int]) -> NDArray[np.int64]:
    """The rows of a table one by one."""
    answers, count = answers_and_counts(table)
    return answers.repeat(count.astype(np.int64), axis=0)
