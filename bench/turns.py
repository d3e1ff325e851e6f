# SPDX-License-Identifier: Apache-2.0
"""Taking turns: samples of competitors, round robin in an order that is shuffled anew each round,
so that what a machine does meanwhile meets all of them alike.
"""

import statistics
import time

SAMPLE_SECONDS = 2e-3   # a sample of a short call repeats it for about as long
LIMIT_SECONDS = 1.0     # a slow competitor gets fewer rounds; one run, if that takes longer
SETTLE_SECONDS = 1e-3   # between samples, so that one competitor's workers are asleep at the next


def unrefused(competitors, results):
    """Adds the beginning of each competitor's result to `results`, and yields those that can run."""
    for competitor in competitors:
        result = {"name": competitor.name, "threads": competitor.threads}
        results.append(result)
        if competitor.refusal:
            result["refused"] = competitor.refusal
        else:
            yield competitor, result


def second_look(competitor, first):
    """The first run of a short one met cold code and data, so it says little of the next."""
    return first if first > SAMPLE_SECONDS else min(first, competitor.seconds(1))


def sample(competitor, count):
    competitor.before()
    time.sleep(SETTLE_SECONDS)
    if count > 1:
        competitor.seconds(1)
    return competitor.seconds(count)


class Turns:
    """One competitor's: how many calls a sample has, and the times so far. `once` is the time of
    its second call."""

    def __init__(self, competitor, once, rounds, most=LIMIT_SECONDS):
        self.competitor = competitor
        self.count = max(1, int(SAMPLE_SECONDS / max(once, 1e-9)))
        self.limit = min(rounds, int(most / max(once * self.count, 1e-9)))
        self.times = [] if self.limit else [once]

    def result(self):
        return {"calls": self.count, "rounds": len(self.times),
                "seconds": {"min": min(self.times), "median": statistics.median(self.times),
                            "max": max(self.times)}}


def take(running, rounds, order):
    for index in range(rounds):
        order.shuffle(running)
        for taken in running:
            if index < taken.limit:
                taken.times.append(sample(taken.competitor, taken.count))


def medians(competitors, rounds, order):
    """The median seconds of each, None where it refuses or fails."""
    running = {}
    for index, competitor in enumerate(competitors):
        if competitor.refusal:
            continue
        competitor.before()
        once = second_look(competitor, competitor.seconds(1))
        if once >= 0:
            running[index] = Turns(competitor, once, rounds)
    take(list(running.values()), rounds, order)
    return [running[index].result()["seconds"]["median"] if index in running else None
            for index in range(len(competitors))]
