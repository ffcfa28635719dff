from stablebag.paper.settings import SETTINGS, Setting


def small(number, n=40, d=5):
    """Return a setting with the paper's learner and data, but fewer rows and features."""
    of = SETTINGS[number]
    return Setting(number, "small", n, d, of.classifies, of.make_learner, of.make_data)
