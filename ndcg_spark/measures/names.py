"""One parser for measure names in ir_measures, trec_eval and our own spelling."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable
from typing import Any, Protocol

from ndcg_spark.errors import UsageError, nearest, unknown
from ndcg_spark.measures.base import FunctionMeasure, Measure, Spelling, spellings
from ndcg_spark.measures.batch import Array, Batch
from ndcg_spark.measures.gains import imported

DIALECTS = ("ndcg_spark", "trec_eval", "trec_eval9")
_OFFICIAL = [
    "runid",
    "num_q",
    "num_ret",
    "num_rel",
    "num_rel_ret",
    "map",
    "gm_map",
    "Rprec",
    "bpref",
    "recip_rank",
    "iprec_at_recall",
    "P",
]
# trec_eval's sets, in the order in which it prints them
NICKNAMES = {
    "official": _OFFICIAL,
    "all_trec": [
        *_OFFICIAL,
        *[
            "relstring",
            "recall",
            "infAP",
            "gm_bpref",
            "Rprec_mult",
            "utility",
            "11pt_avg",
            "binG",
            "G",
            "ndcg",
            "ndcg_rel",
            "Rndcg",
            "ndcg_cut",
            "map_cut",
            "relative_P",
            "success",
            "set_P",
            "set_relative_P",
            "set_recall",
            "set_map",
            "set_F",
            "num_nonrel_judged_ret",
        ],
    ],
}
SINCE_10 = {"all_trec": ["unj"]}  # what release 10 prints after these
_NUMBER = re.compile(r"[0-9]*\.?[0-9]+")
_PAIR = re.compile(r"-?[\d.]+\s*=\s*[\d.eE+-]+")


class Named(Protocol):
    """A measure of ir_measures: read by its text, as in ``AP(rel=2)@10``."""

    NAME: str


MeasureLike = str | Measure | type[Measure] | Callable[[Batch], Array] | Named


def parse_measure(text: MeasureLike) -> Measure:
    """The one measure that a name stands for; ``parse_measure(str(m)) == m``.

    Raises:
        UsageError: for an unknown name (with the nearest), a bad parameter or cut-off, or a name
            that stands for several measures.

    >>> print(parse_measure("ndcg_cut_10"), parse_measure("nDCG(dcg='exp-log2')@5"))
    nDCG@10 nDCG(gain='exp2')@5
    """
    found = parse_measures([text])
    if len(found) != 1:
        raise UsageError(f"{text!r} stands for {len(found)} measures; give one cut-off")
    return found[0]


def parse_measures(
    wanted: MeasureLike | Iterable[MeasureLike], dialect: str = "ndcg_spark"
) -> list[Measure]:
    """The measures that names or objects stand for, in order, each once.

    Commas separate names; a bare number after a comma is one more cut-off of the name before it,
    and ``grade=gain`` continues a gain map. ``official`` and ``all_trec`` are trec_eval's sets.
    With dialect="trec_eval" (release 10 of that program) or "trec_eval9" (release 9, which
    pytrec_eval contains) the names of `trec_eval.py` mean what they mean there, and these sets are
    that release's (else 10's); one name does with ``trec_eval:NAME``. ``module:Name`` is a measure
    of the user's own module: a class, or a function from a batch to an array. Objects of
    ir_measures are read by their text.

    >>> [str(m) for m in parse_measures("P.5,10,map")]
    ['P@5', 'P@10', 'AP']
    """
    if dialect not in DIALECTS:
        raise unknown("dialect", dialect, DIALECTS)
    single = isinstance(wanted, (str, Measure, type)) or callable(wanted) or _of_ir_measures(wanted)
    items = [wanted] if single else list(wanted)  # type: ignore[arg-type]
    found: list[Measure] = []
    for item in items:
        if isinstance(item, str):
            found += _several(item, dialect)
        elif _of_ir_measures(item):
            found += _several(str(item), dialect)
        elif isinstance(item, Measure):
            found += _complete(item, ())
        elif isinstance(item, type) and issubclass(item, Measure):
            found += _complete(item(), ())
        elif callable(item):
            found.append(FunctionMeasure.of(item))
        else:
            raise UsageError(f"{item!r} is neither a measure nor a measure's name")
    if not found:
        raise UsageError("no measure was asked for; name at least one, as in nDCG@10")
    return list(dict.fromkeys(found))


def _of_ir_measures(item: object) -> bool:
    return any(base.__module__.split(".")[0] == "ir_measures" for base in type(item).__mro__)


def _several(text: str, dialect: str) -> list[Measure]:
    found: list[Measure] = []
    pending = ""
    for token in _split(text):
        if pending and _PAIR.fullmatch(token):
            pending += f",{token}"
            continue
        if pending:
            found += _named(pending, dialect)
            pending = ""
        if found and found[-1].dotted and _NUMBER.fullmatch(token):
            found += _named(f"{found[-1].canonical}.{token}", dialect)
        elif found and _NUMBER.fullmatch(token):
            found.append(found[-1] @ float(token) if "." in token else found[-1] @ int(token))
        elif "." in token and _PAIR.fullmatch(token.split(".", 1)[1]):
            pending = token
        else:
            found += _named(token, dialect)
    return found + (_named(pending, dialect) if pending else [])


def _split(text: str) -> list[str]:
    """Split at commas outside brackets and quotes."""
    parts, depth, quote = [""], 0, ""
    for char in text:
        if quote:
            quote = "" if char == quote else quote
        elif char in "'\"":
            quote = char
        elif char in "([{":
            depth += 1
        elif char in ")]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += char
    if any(not part.strip() for part in parts):
        raise UsageError(f"an empty measure name in {text!r}")
    return [part.strip() for part in parts]


_MEASURE = re.compile(
    r"""(?:(?P<module>[A-Za-z_][\w.]*):)?
    (?P<name>[A-Za-z_][\w-]*?_\d*\.\d+|\d*[A-Za-z_][\w-]*)\s*
    (?P<arguments>\((?:[^()]|\([^()]*\))*\))?\s*
    (?:@(?P<cut>.+)|\.(?P<dotted>.+))?""",
    re.VERBOSE | re.DOTALL,
)


def _named(text: str, dialect: str) -> list[Measure]:
    if text in NICKNAMES:
        release = "trec_eval9" if dialect == "trec_eval9" else "trec_eval"
        names = NICKNAMES[text] + (SINCE_10.get(text, []) if release == "trec_eval" else [])
        return [m for name in names for m in _named(name, release)]
    match = _MEASURE.fullmatch(text)
    if not match:
        raise UsageError(f"cannot read the measure {text!r}; write it as in nDCG@10 or AP(rel=2)")
    if match["module"] and match["module"] not in DIALECTS:
        spelling, cut_in_name = _own(match["module"], match["name"]), None
    else:
        spelling, cut_in_name = _lookup(match["name"], match["module"] or dialect)
    params = dict(spelling.preset) | _arguments(match["arguments"] or "()", text)
    dotted = match["dotted"]
    if dotted and "=" in dotted:
        params["gain"], dotted = dotted, None
    own = spelling.measure.dotted
    if own and dotted:  # ranx: rbp.95 is p = .95
        params[own], dotted = _decimal(dotted if "." in dotted else f"0.{dotted}", text), None
    cuts = [cut.strip() for cut in (match["cut"], cut_in_name, dotted) if cut]
    at = spelling.measure.at
    if len(cuts) + (at in params) > 1:
        raise UsageError(f"{text!r} has more than one cut-off")
    if cuts:
        whole = re.fullmatch("[1-9][0-9]{0,17}", cuts[0])
        plain = int(cuts[0]) if whole else cuts[0]
        params[at] = plain if at == "cutoff" else _decimal(cuts[0], text)
    given = at in params and params[at] is not None
    return _complete(_build(spelling, params, text), () if given else spelling.cuts)


def _decimal(text: str, name: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"{text!r} in {name!r} is not a number") from None


def _lookup(name: str, dialect: str) -> tuple[Spelling, str | None]:
    """The spelling for a name; `ndcg_cut_10` is `ndcg_cut` with a cut-off."""
    stem, _, last = name.rpartition("_")
    split = bool(stem and re.fullmatch(r"\d*\.?\d+", last))
    tries: list[tuple[str, str | None]] = [(name, None), (stem, last)][: 1 + split]
    known_names = spellings()
    folded = {known.casefold(): known for known in known_names}
    for attempt, cut in tries:
        for wanted in (f"{dialect.rstrip('9')}:{attempt}", attempt):
            known = wanted if wanted in known_names else folded.get(wanted.casefold())
            if known and not (dialect == "trec_eval9" and known_names[known].measure.release > 9):
                return known_names[known], cut
    names = [known for known in known_names if ":" not in known]
    raise UsageError(
        f"unknown measure {name!r}{nearest(name, names)}; `ndcg-spark measures` lists them"
    )


def _own(module: str, name: str) -> Spelling:
    """A measure of the user's own module: a class, or a function of a batch."""
    found = imported(f"{module}:{name}", "measure")
    if isinstance(found, type) and issubclass(found, Measure):
        return Spelling(name, found, {}, found.cuts if found.needs_cutoff else ())
    if not callable(found) or isinstance(found, type):
        raise UsageError(f"{module}:{name} is neither a Measure class nor a function of a batch")
    return Spelling(name, FunctionMeasure, {"function": found})


def _arguments(inside: str, text: str) -> dict[str, Any]:
    try:
        call = ast.parse(f"f{inside}", mode="eval").body
        if not isinstance(call, ast.Call) or call.args:
            raise ValueError("parameters are written name=value")
        return {str(word.arg): ast.literal_eval(word.value) for word in call.keywords}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise UsageError(
            f"cannot read the parameters of {text[:200]!r}; write name=value, the value a number, "
            "a text in quotes or a map {1: 1, 2: 3}"
        ) from None


def _build(spelling: Spelling, params: dict[str, Any], text: str) -> Measure:
    allowed = [*spelling.measure.parameters(), *spelling.measure.aliases]
    for name in params:
        if name not in allowed:
            raise UsageError(
                f"{text!r}: {spelling.measure.canonical} has no parameter {name!r}"
                f"{nearest(name, allowed)}; it has: {', '.join(allowed) or 'none'}"
            )
    return spelling.measure(**params)


def _complete(measure: Measure, cuts: tuple[float, ...]) -> list[Measure]:
    if cuts:
        return [piece for cut in cuts for piece in (measure @ cut).pieces()]
    if measure.needs_cutoff and measure.set_parameters().get(measure.at) is None:
        raise UsageError(f"{measure.canonical} needs a cut-off, as in {measure.canonical}@10")
    return measure.pieces()
