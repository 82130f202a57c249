#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes synthetic routing traces. Same arguments, same bytes, on every machine: integers only, and random numbers of
our own. The format stands in harness/include/switchyard/harness/routing_trace.hpp.

  correlated   a token keeps each of its experts from one step to the next with a chance, as neighbours in a text do
  skewed       experts are drawn with weight 1 / place in popularity; from step to step (layer to layer) some change
               places"""
import argparse
import json
import sys

MASK = (1 << 64) - 1


class Random:
    """SplitMix64: a counter and a finaliser."""

    def __init__(self, seed):
        self.state = seed & MASK

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        word = self.state
        word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & MASK
        return word ^ (word >> 31)

    def below(self, bound):
        """Uniform in [0, bound): words that would favour some values are drawn again."""
        limit = (1 << 64) // bound * bound
        while True:
            word = self.next()
            if word < limit:
                return word % bound

    def chance(self, percent):
        return self.below(100) < percent


def weights_of(random, top_k):
    """Multiples of 1/64 that fall from slot to slot, as a router's do; exact in fp32 and short in text."""
    return [count / 64 for count in sorted((1 + random.below(64) for _ in range(top_k)), reverse=True)]


def draw_other(random, experts, taken):
    while True:
        expert = random.below(experts)
        if expert not in taken:
            return expert


def correlated_rows(random, options):
    """rows(step, rank): a sequence for each place in a rank, whose experts persist while it lives."""
    state = {}

    def rows(step, rank):
        out = []
        for token in range(random.below(options.tokens + 1)):
            old = state.get((rank, token), [])
            ids = [expert for expert in old if random.chance(options.persist_percent)]
            while len(ids) < options.top_k:
                ids.append(draw_other(random, options.experts, ids))
            state[rank, token] = ids
            out.append(ids)
        return out

    return rows


def skewed_rows(random, options):
    """rows(step, rank): popularity 1 / place, and before each step but the first some experts change places."""
    order = list(range(options.experts))
    for left in range(len(order), 1, -1):
        other = random.below(left)
        order[left - 1], order[other] = order[other], order[left - 1]
    weights = [(1 << 20) // (place + 1) for place in range(options.experts)]
    drifted = {0}

    def drift(step):
        if step in drifted:
            return
        drifted.add(step)
        for place in range(options.experts):
            if random.chance(options.drift_percent):
                other = random.below(options.experts)
                order[place], order[other] = order[other], order[place]

    def one_row():
        places = []
        while len(places) < options.top_k:
            point = random.below(sum(weight for place, weight in enumerate(weights) if place not in places))
            for place, weight in enumerate(weights):
                if place in places:
                    continue
                if point < weight:
                    places.append(place)
                    break
                point -= weight
        return [order[place] for place in places]

    def rows(step, rank):
        drift(step)
        return [one_row() for _ in range(random.below(options.tokens + 1))]

    return rows


KINDS = {
    "correlated": (correlated_rows, "A token keeps each expert from step to step with a chance of {0.persist_percent} %."),
    "skewed": (skewed_rows, "Experts by weight 1 / place; {0.drift_percent} % change places between steps."),
}


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=sorted(KINDS))
    parser.add_argument("name", help="of the trace and, without .jsonl, of its file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--steps", type=int, default=6)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--tokens", type=int, default=16, help="most tokens of a rank in a step; drawn from 0 up")
    parser.add_argument("--experts", type=int, default=64)
    parser.add_argument("--top-k", type=int, default=8)
    parser.add_argument("--persist-percent", type=int, default=75)
    parser.add_argument("--drift-percent", type=int, default=20)
    options = parser.parse_args(arguments)
    for name, least, most in (("seed", 0, (1 << 63) - 1), ("steps", 1, 1 << 20), ("ranks", 1, 256),
                              ("tokens", 1, 1 << 20), ("experts", 1, 1 << 20), ("top_k", 1, min(32, options.experts)),
                              ("persist_percent", 0, 100), ("drift_percent", 0, 100)):
        if not least <= getattr(options, name) <= most:
            parser.error(f"--{name.replace('_', '-')} must be {least} to {most}")
    return options


def lines_of(arguments):
    """The lines of the trace, each with its newline."""
    options = parse(arguments)
    make_rows, sentence = KINDS[options.kind]
    random = Random(options.seed)
    rows = make_rows(random, options)
    yield json.dumps({"trace": options.name, "description": "Synthetic. " + sentence.format(options), "synthetic": True,
                      "generator": "tools/make_trace.py " + " ".join(arguments), "seed": options.seed,
                      "num_experts": options.experts, "top_k": options.top_k, "ranks": options.ranks}) + "\n"
    for step in range(options.steps):
        for rank in range(options.ranks):
            ids = rows(step, rank)
            line = {"step": step, "rank": rank, "topk_ids": ids,
                    "topk_weights": [weights_of(random, options.top_k) for _ in ids]}
            yield json.dumps(line, separators=(",", ":")) + "\n"


if __name__ == "__main__":
    sys.stdout.writelines(lines_of(sys.argv[1:]))
