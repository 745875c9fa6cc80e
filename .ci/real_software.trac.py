"""Fills Trac, for `.ci/real_software`: wiki pages that link to each other, a third of them in two
versions, and tickets with comments, from a file of texts by name.

usage: real_software.trac.py ENVIRONMENT TEXTS
"""
import json
import random
import sys

from trac.env import Environment
from trac.ticket.model import Ticket
from trac.wiki.model import WikiPage

PAGES, TICKETS = 40, 30


def main():
    trac = Environment(sys.argv[1])
    texts = dict(list(json.load(open(sys.argv[2])).items())[:PAGES])
    draw = random.Random(7)
    names = list(texts)

    def link(name):
        return f'[wiki:Module{name.title()} {name}]'

    def save(name, text):
        page = WikiPage(trac, name)
        page.text = text
        page.save('writer', 'Write it down')

    for number, (name, text) in enumerate(texts.items()):
        see = ' '.join(map(link, draw.sample(names, 5)))
        page = f'= {name} =\n\n{{{{{{\n{text[:2500]}\n}}}}}}\n\nSee also {see}\n'
        save(f'Module{name.title()}', page)
        if number % 3 == 0:
            more = ' '.join(texts[draw.choice(names)].split()[100:150])
            save(f'Module{name.title()}', f'{page}\n{more}\n')
    save('WikiStart', ' '.join(map(link, names)))
    for name in names[:TICKETS]:
        ticket = Ticket(trac)
        ticket['summary'] = f'What {name} does with {draw.choice(names)}'
        ticket['description'] = texts[name][200:1200]
        ticket['reporter'] = draw.choice(['ann', 'ben', 'col'])
        ticket['component'] = draw.choice(['component1', 'component2'])
        ticket['milestone'] = draw.choice(['milestone1', 'milestone2', 'milestone3'])
        ticket['priority'] = draw.choice(['major', 'minor', 'critical'])
        ticket['type'] = draw.choice(['defect', 'task'])
        ticket['status'] = 'new'
        ticket.insert()
        for _ in range(draw.randrange(3)):
            ticket.save_changes(draw.choice(['ann', 'ben']), texts[draw.choice(names)][300:600])


main()
