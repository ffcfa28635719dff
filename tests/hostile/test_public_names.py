"""Every public name with values that nobody should pass: the result is right, or the error is a clear sentence.

Hypothesis draws the cases, the same ones every time. `make hostile` draws STABLEBAG_HOSTILE times as many.
"""

import inspect
import os

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hostile.rule import fault_of, outcome, same
from hostile.subjects import MADE_BY, SUBJECTS
from hostile.values import offered
from public import HOMES, public

TIMES = int(os.environ.get("STABLEBAG_HOSTILE", "1"))
BY_NAME = {subject.name: subject for subject in SUBJECTS}
# No shrinking, because each case is a single value.
CAMPAIGN = settings(
    max_examples=18 * TIMES,
    derandomize=TIMES == 1,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def test_every_public_name_is_tested():
    called = {subject.public for subject in SUBJECTS}
    assert called | set(MADE_BY) == {name for name, home in HOMES.items() if home != "stablebag.paper"}


def test_every_parameter_is_tested():
    for subject in SUBJECTS:
        if subject.name in HOMES:
            parameters = inspect.signature(public(subject.name)).parameters.values()
            named = {parameter.name for parameter in parameters if parameter.kind is not parameter.VAR_KEYWORD}
            assert named <= set(subject.right()) | set(subject.untouched), subject.name


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_NAME)
def test_right_values_work_and_wrong_ones_work_or_raise_a_clear_error(name):
    subject = BY_NAME[name]
    expected, error = outcome(lambda: subject.call()(**subject.right()))
    assert error is None
    cases = [
        (parameter, words, make, sort)
        for parameter, right in subject.right().items()
        if parameter not in subject.untouched
        for words, make, sort in offered(right)
    ]
    if not cases:
        return

    def fault_in(case):
        parameter, words, make, sort = case
        value = make()
        given_to = f"{name}({parameter}={words})"
        answer, error = outcome(lambda: subject.call()(**{**subject.right(), parameter: value}))
        if error is not None:
            fault = fault_of(error, value)
            return fault and f"{given_to} raises {fault}: {type(error).__name__}: {str(error)[:300]}"
        if sort == "masked":
            return f"{given_to} drops the mask"
        if sort == "reworded" and not same(answer, expected):
            return f"{given_to} gives {answer!r} in place of {expected!r}"
        return None

    @CAMPAIGN
    @given(st.sampled_from(cases))
    def holds(case):
        assert fault_in(case) is None

    if TIMES == 1:
        holds()
    else:
        faults = list(filter(None, map(fault_in, cases)))
        assert not faults, "\n".join([f"{len(faults)} of {len(cases)} cases:", *faults])


SEVERAL = [subject.name for subject in SUBJECTS if len(set(subject.right()) - set(subject.untouched)) > 1]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEVERAL)
def test_two_wrong_values_raise_one_clear_error(name):
    subject = BY_NAME[name]
    touched = [parameter for parameter in subject.right() if parameter not in subject.untouched]

    @settings(CAMPAIGN, max_examples=4 * TIMES)
    @given(st.data())
    def holds(data):
        both = data.draw(st.lists(st.sampled_from(touched), min_size=2, max_size=3, unique=True))
        right = subject.right()
        chosen = {parameter: data.draw(st.sampled_from(list(offered(right[parameter])))) for parameter in both}
        values = {parameter: make() for parameter, (_, make, _) in chosen.items()}
        words = ", ".join(f"{parameter}={case[0]}" for parameter, case in chosen.items())
        _, error = outcome(lambda: subject.call()(**{**right, **values}))
        if error is not None:
            fault = fault_of(error, *values.values())
            assert fault is None, f"{name}({words}) raises {fault}: {type(error).__name__}: {str(error)[:300]}"

    holds()
