from stablebag.proving.certificate import TRIVIAL, Bound, Proof


def test_the_smaller_bound_is_the_better_whatever_its_proof():
    proved = [Bound(0.3, Proof("a long argument")), Bound(0.2, Proof("counting")), Bound(1.0, TRIVIAL)]
    assert min(proved).proof.words == "counting"
    assert sorted(proved)[-1].proof is TRIVIAL
    assert Bound(0.0, TRIVIAL) < Bound(0.1, TRIVIAL)


def test_of_two_proofs_of_one_number_the_first_is_named():
    assert Bound(0.2, Proof("one way")) == Bound(0.2, Proof("another"))
    assert min(Bound(0.2, Proof("one way")), Bound(0.2, Proof("another"))).proof.words == "one way"


def test_further_steps_follow_and_keep_what_is_exact():
    proof = Proof("the exact frontier", exact=True).and_("Theorem 13 for the range", "counting")
    assert proof == Proof("the exact frontier, Theorem 13 for the range, counting", exact=True)
    assert not Proof("Theorem 8").and_("Theorem 9").exact
    assert Proof("Theorem 8").and_() == Proof("Theorem 8")
