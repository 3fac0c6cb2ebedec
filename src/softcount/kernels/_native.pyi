from softcount.kernels.arrays import ClassCodes, FloatArray, IndexArray, NumberArray

def levels() -> tuple[str, ...]: ...
def level() -> str: ...
def use_level(name: str, /) -> None: ...
def csr_scores(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, table: FloatArray, out: FloatArray, /
) -> None: ...
def csr_accumulate(
    indptr: IndexArray, indices: IndexArray, data: NumberArray | None, resp: FloatArray, out: FloatArray, /
) -> None: ...
def csr_class_counts(
    indptr: IndexArray,
    indices: IndexArray,
    data: NumberArray | None,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    out: FloatArray,
    /,
) -> None: ...
def csr_repeats(indptr: IndexArray, indices: IndexArray, data: NumberArray | None, mark: NumberArray, /) -> bool: ...
def csr_word_index(
    indptr: IndexArray,
    indices: IndexArray,
    data: NumberArray | None,
    cursor: NumberArray,
    words: NumberArray,
    starts: NumberArray,
    rows: NumberArray,
    counts: NumberArray,
    /,
) -> tuple[int, int, bool] | None: ...
def csr_accumulate_words(
    words: NumberArray,
    starts: NumberArray,
    rows: NumberArray,
    counts: NumberArray | None,
    resp: FloatArray,
    out: FloatArray,
    /,
) -> None: ...
def codes_scores(codes: NumberArray, offsets: NumberArray, table: FloatArray, out: FloatArray, /) -> None: ...
def codes_accumulate(codes: NumberArray, offsets: NumberArray, resp: FloatArray, out: FloatArray, /) -> None: ...
def codes_class_counts(
    codes: NumberArray,
    offsets: NumberArray,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    out: FloatArray,
    /,
) -> None: ...
def codes_pass(
    codes: NumberArray,
    offsets: NumberArray,
    table: FloatArray,
    log_weights: FloatArray,
    row_weight: FloatArray | None,
    counts: FloatArray,
    class_weight: FloatArray,
    log_likelihood: FloatArray,
    /,
) -> None: ...
def dense_scores(X: NumberArray, table: FloatArray, out: FloatArray, /) -> None: ...
def dense_accumulate(X: NumberArray, resp: FloatArray, out: FloatArray, /) -> None: ...
def dense_class_counts(
    X: NumberArray, class_codes: ClassCodes, weight: FloatArray | None, out: FloatArray, /
) -> None: ...
def gaussian_scores(X: NumberArray, mean: FloatArray, precision: FloatArray, out: FloatArray, /) -> None: ...
def gaussian_moments(
    X: NumberArray,
    resp: FloatArray,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    square_out: FloatArray,
    /,
) -> None: ...
def gaussian_class_moments(
    X: NumberArray,
    class_codes: ClassCodes,
    weight: FloatArray | None,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    square_out: FloatArray,
    /,
) -> None: ...
def gaussian_full_scores(
    X: NumberArray, mean: FloatArray, precision_chol: FloatArray, log_det: FloatArray, out: FloatArray, /
) -> None: ...
def gaussian_full_moments(
    X: NumberArray,
    resp: FloatArray,
    center: FloatArray,
    weight_out: FloatArray,
    sum_out: FloatArray,
    scatter_out: FloatArray,
    /,
) -> None: ...
def logistic_score(
    X: FloatArray,
    coef: FloatArray,
    offset: FloatArray | None,
    sign: FloatArray,
    weight: FloatArray | None,
    score: FloatArray,
    log_likelihood: FloatArray,
    /,
) -> None: ...
def normalize_rows(
    scores: FloatArray,
    row_weight: FloatArray | None,
    fallback_log_prob: FloatArray,
    log_norm_out: FloatArray | None,
    /,
) -> float: ...
def number_range(numbers: NumberArray, /) -> tuple[float, float, float, bool]: ...
def new_vocabulary(seed: int, /) -> object: ...
def vocabulary_size(vocabulary: object, /) -> int: ...
def vocabulary_words(vocabulary: object, /) -> bytes: ...
def add_words(vocabulary: object, lines: bytes, numbers_out: NumberArray, /) -> None: ...
def count_tokens(
    vocabulary: object,
    text: bytes,
    ends: NumberArray,
    characters: NumberArray | None,
    add: bool,
    numbers_out: NumberArray,
    counts_out: NumberArray,
    row_ends_out: NumberArray,
    /,
) -> int: ...
def sort_rows(
    indptr: NumberArray,
    numbers: NumberArray,
    counts: NumberArray,
    column_of: NumberArray,
    indices_out: NumberArray,
    data_out: NumberArray,
    /,
) -> None: ...
def sorted_words(vocabulary: object, columns_out: NumberArray, /) -> bytes: ...
def split_lines(text: bytes, delimiter: int, n_columns: int, /) -> list[list[str]] | None: ...
def text_lengths(texts: list[str], lengths_out: NumberArray, /) -> int: ...
def join_ascii(texts: list[str], start: int, lengths: NumberArray, /) -> bytes | None: ...
