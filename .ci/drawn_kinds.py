"""The kinds of sites that `drawn_sites` draws: what each models, and what its trap is.

A kind says in `show` what a path with its parameters shows. Documents are named; a name stands for
a text drawn from it, so every site is the same for the same seed. In the kinds named `...Some`,
and in all below the line TRAPS, the documents `o...` are shown only under forms that a rule which
is right elsewhere takes for copies.
"""
import random
import re
import urllib.parse
import zlib

TEXTS = {}  # Of each kind and seed, by name of document.
SMALL = 'the of and to in a is that for it as was with on be by not at from this are or an'.split()


def m(pattern, path):
    """Returns what a pattern finds in the whole path, numbers as such; else nothing."""
    found = re.fullmatch(pattern, path)
    return found and ([int(x) if x and x.isdigit() else x for x in found.groups()] or [True])


def num(q, key, default=0):
    return int(q[key]) if q.get(key, '').isdigit() else default


class Answer:
    """What was shown: `doc` is the same where the main text is, `parts` are the documents in it."""

    def __init__(self, status, body='', location=None, doc=None, parts=(), form='text/html'):
        self.status, self.body, self.location, self.doc = status, body, location, doc
        self.parts, self.form = parts, form


class Site:
    """A site without pages; kinds derive from it."""
    hosts = ['']  # Prefixes of `kind.example`.
    size = 110, 190
    trap = False

    def __init__(self, seed, noisy):
        self.name = re.sub(r'(?<=.)([A-Z])', r'-\1', type(self).__name__).lower()
        self.domain, self.seed = self.name + '.example', seed
        self.rng, self.look = random.Random(f'{self.name} {seed}'), random.Random(seed)
        self.n, self.looks, self.record = self.rng.randint(*self.size), 0, {}
        self.texts = TEXTS.setdefault((self.name, seed), {})
        self.ids = range(1, self.n + 1)
        self.odd = sorted(self.rng.sample(self.ids, self.rng.randint(5, 12)))
        sounds = [a + b for a in 'b d f g k l m n p r s t v z st tr pl'.split() for b in 'aeiou']
        words = {''.join(self.rng.choices(sounds, k=self.rng.randint(2, 4))) for _ in range(1800)}
        self.words = sorted(words)
        self.rng.shuffle(self.words)
        self.weights = [1 / (i + 8) for i in range(len(self.words))]
        self.theme = self.rng.randrange(3)
        self.noises = self.rng.sample('served visits teasers token'.split(), 2) if noisy else []
        self.nav = [('/', 'Home')]
        self.draw()

    def draw(self):
        """Draws what the kind needs."""

    def show(self, p, q, at):
        """Says what the path shows with these parameters, at the host with this prefix."""

    def resolve(self, host, target):
        """Returns the answer to a request."""
        path, _, query = target.partition('?')
        q = dict(urllib.parse.parse_qsl(query.replace(';', '&'), keep_blank_values=True))
        return self.show(urllib.parse.unquote(path), q, host[:-len(self.domain)]) or self.missing()

    def h(self, *key):
        return zlib.crc32(repr(key).encode())

    def ok(self, i):
        return isinstance(i, int) and 1 <= i <= self.n

    def near(self, i, step=7):
        """Returns the documents that a page names beside its own."""
        return [(i + k) % self.n + 1 for k in (0, step, 3 * step)]

    def version(self, i, v, first):
        """Returns a document as it was at a version; one in three versions changed it."""
        return f'd{i}.{max(k for k in range(first, v + 1) if k == first or self.h(i, k) % 3 == 0)}'

    def prose(self, rng, count):
        words = rng.choices(self.words, self.weights, k=count)
        words = [rng.choice(SMALL) if rng.random() < 0.3 else word for word in words]
        out = []
        while words:
            k = rng.randint(6, 14)
            out.append(' '.join(words[:k]).capitalize() + '.')
            words = words[k:]
        return out

    def text(self, doc):
        if doc not in self.texts:
            rng = random.Random(f'{self.name} {self.seed} {doc}')
            self.texts[doc] = self.prose(rng, rng.randint(40, 200))
        return self.texts[doc]

    def title(self, doc):
        return ' '.join(' '.join(self.text(doc)).rstrip('.').split()[:5])

    def slug(self, doc):
        return '-'.join(re.findall('[a-z]+', self.title(doc).lower())[:4])

    def main(self, *docs):
        out = []
        for doc in docs:
            lines = self.text(doc)
            said = ''.join(f'<p>{" ".join(lines[k:k + 4])}</p>\n' for k in range(0, len(lines), 4))
            out.append(f'<div class="entry"><h2>{self.title(doc)}</h2>\n{said}</div>')
        return '\n'.join(out)

    def page(self, *docs, links=(), side=(), head='', also=''):
        """Answers with these documents, one below the other."""
        body = self.frame(self.title(docs[0]), self.main(*docs) + also, links, side, head)
        return Answer(200, body, doc='+'.join(sorted(docs)), parts=docs)

    def list(self, items, links=(), side=(), head=''):
        """Answers with a list of pairs of address and document, which shows only how they begin."""
        rows = [f'{self.anchors([(href, self.title(doc))])} {" ".join(self.text(doc)[:2])}'
                for href, doc in items]
        body = self.frame('Contents', '<ul>' + '\n'.join(rows) + '</ul>', links, side, head)
        return Answer(200, body, doc='list ' + ' '.join(sorted(doc for _, doc in items)))

    def notice(self, said, links=(), status=200):
        """Answers with words that are no document."""
        return Answer(status, self.frame(said, f'<p>{said}</p>', links, (), ''), doc='notice')

    def missing(self):
        return self.notice('This page does not exist, or it has been removed.', status=404)

    def go(self, location, status=301):
        return Answer(status, location=location)

    def catalogue(self, p, q, href, k=6, per=20, base='/s'):
        """Answers for the home page and the paged lists of `k` sections, or not at all."""
        if p == '/':
            return self.list([(f'{base}/{j}', f'section {j}') for j in range(k)])
        if (g := m(base + r'/(\d+)', p)) and g[0] < k:
            mine, page = [i for i in self.ids if i % k == g[0]], max(num(q, 'page', 1), 1)
            shown = mine[page * per - per:page * per]
            more = [f'{base}/{g[0]}?page={page + 1}'] if page * per < len(mine) else []
            return self.list([(x, f'd{i}') for i in shown for x in self.every(href(i))], more)
        return None

    def every(self, hrefs):
        return [hrefs] if isinstance(hrefs, str) else hrefs

    def anchors(self, links):
        pairs = [x if isinstance(x, tuple) else (x, x.rsplit('/', 1)[-1][:24]) for x in links]
        return ''.join(f'<li><a href="{href.replace("&", "&amp;")}">{label}</a>\n'
                       for href, label in pairs)

    def frame(self, title, main, links, side, head):
        name, foot = self.name.title(), ' '.join(self.text('footer')[:3])
        box = [('<main>', '</main>'), ('<div id="content">', '</div>'),
               ('<table><tr><td class="body">', '</td></tr></table>')][self.theme]
        return (f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{title} - '
                f'{name}</title>{head}</head>\n<body><div class="header"><h1>{name}</h1>'
                f'<ul class="nav">{self.anchors(self.nav)}</ul></div>\n<div class="crumbs">'
                f'<a href="/">{name}</a> &raquo; {title}</div>\n{box[0]}<h1>{title}</h1>\n{main}\n'
                f'<ul class="tools">{self.anchors(links)}</ul>{box[1]}\n<div class="sidebar"><h3>'
                f'See also</h3><ul>{self.anchors(side)}</ul></div>\n<div class="footer"><p>{foot}'
                f'</p>{self.noise()}</div></body></html>\n')

    def noise(self):
        """Returns what pages say anew at each look, where the site has such a habit."""
        self.looks, rng, out = self.looks + 1, self.look, ''
        if 'served' in self.noises:
            out += f'<p>Page served in 0.{rng.randint(10, 99)} s, {rng.randint(9, 40)} queries</p>'
        if 'visits' in self.noises:
            out += f'<p>{4000 + self.looks} visitors, {rng.randint(2, 70)} of them online now</p>'
        if 'teasers' in self.noises:
            docs = [f'd{i}' for i in rng.sample(self.ids, 3)]
            out += ''.join(f'<p>Did you know? {self.text(doc)[0]}</p>' for doc in docs)
        if 'token' in self.noises:
            token = f'{rng.getrandbits(64):x}'
            out += f'<form><input type="hidden" name="token" value="{token}"></form>'
        return out


class Board(Site):
    """Topics of posts, ten on a page; each post is a document."""
    per = 10

    def draw(self):
        count = self.n // 6
        self.topics, self.topic = {t: [t] for t in range(1, count + 1)}, {}
        for i in range(count + 1, self.n + 1):
            self.topics[min(int(self.rng.paretovariate(0.7)), count)].append(i)
        self.topic = {i: t for t, posts in self.topics.items() for i in posts}

    def part(self, t, start):
        """Returns the posts of a page of a topic and its start, never past the last page."""
        start = max(0, min(start, len(self.topics[t]) - 1)) // self.per * self.per
        return [f'd{i}' for i in self.topics[t][start:start + self.per]], start

    def where(self, i):
        """Returns the topic of a post and the start of its page."""
        t = self.topic[i]
        return t, self.topics[t].index(i) // self.per * self.per


# HABITS: what software does; all rules that suggest themselves are right.

class Phpbb(Board):
    """phpBB: topics by forum, number, start and post, a print view, session ids that stick."""

    def show(self, p, q, at):
        key = self.h(p, q.get('t'), q.get('p'))
        sid = f'&sid={(key % 9 and q.get("sid")) or f"{key // 9 % 2 + 7:08x}"}'
        if p in ('/', '/index.php'):
            return self.list([(f'/viewforum.php?f={f}{sid}', f'forum {f}') for f in range(1, 5)])
        if p == '/viewforum.php':
            f = num(q, 'f')
            mine = [t for t in self.topics if t % 4 + 1 == f]
            last = [f'/viewtopic.php?p={self.topics[t][-1]}{sid}' for t in mine]
            return self.list([(f'/viewtopic.php?f={f}&t={t}{sid}', f'd{t}') for t in mine], last)
        if p == '/viewtopic.php':
            i, t, start = num(q, 'p'), num(q, 't'), num(q, 'start')
            t, start = self.where(i) if self.ok(i) else (t, start)
            if t in self.topics:
                posts, start = self.part(t, start)
                links = [f'/viewtopic.php?p={x[1:]}{sid}#p{x[1:]}' for x in posts]
                links += [f'/viewtopic.php?t={t}&view=print{sid}'] * ('view' not in q)
                links += [f'/viewtopic.php?f={t % 4 + 1}&t={t}{sid}&start={s}'
                          for s in range(0, len(self.topics[t]), 10) if s != start]
                return self.page(*posts, links=links)


class Smf(Board):
    """SMF: `topic=5.10` by start or by `msg`, semicolons, `action=printpage` shows all posts."""

    def show(self, p, q, at):
        if p == '/' or p == '/index.php' and not q:
            return self.list([(f'/index.php?board={b}.0', f'board {b}') for b in range(1, 5)])
        if g := m(r'(\d+)\.(\d+)', q.get('board', '')):
            mine = [t for t in self.topics if t % 4 + 1 == g[0]]
            return self.list([(f'/index.php?topic={t}.{x}', f'd{t}') for t in mine
                              for x in ('0', f'msg{self.topics[t][-1]}')])
        if (g := m(r'(\d+)\.(msg|from)?(\d+)', q.get('topic', ''))) and g[0] in self.topics:
            t, mark, x = g
            if q.get('action') == 'printpage':
                return self.page(*[f'd{i}' for i in self.topics[t]])
            x = self.where(x)[1] if mark and self.ok(x) else 0 if mark else x
            posts, _ = self.part(t, x)
            links = [f'/index.php?topic={t}.msg{x[1:]}#msg{x[1:]}' for x in posts]
            links += [f'/index.php?topic={t}.{s}' for s in range(0, len(self.topics[t]), 10)]
            links += [f'/index.php?action=printpage;topic={t}.0', f'/index.php?topic={t}.0;wap2']
            return self.page(*posts, links=links)


class Vbulletin(Board):
    """vBulletin: `showthread` by thread or post, one post alone, `goto` redirects, slugs."""

    def show(self, p, q, at):
        i = num(q, 'p')
        if p == '/':
            return self.list([(f'/forumdisplay.php?f={f}', f'forum {f}') for f in range(4)])
        if p == '/forumdisplay.php':
            mine = [t for t in self.topics if t % 4 == num(q, 'f')]
            return self.list([(f'/threads/{t}-{self.slug(f"d{t}")}', f'd{t}') for t in mine],
                             [f'/showthread.php?goto=newpost&t={t}' for t in mine])
        if p == '/showpost.php' and self.ok(i):
            return self.page(f'd{i}', links=[f'/showthread.php?p={i}#post{i}'])
        g = m(r'/threads/(\d+)-.*', p)
        t = g[0] if g else num(q, 't')
        if g or p == '/showthread.php':
            t, start = self.where(i) if self.ok(i) else (t, 10 * num(q, 'page', 1) - 10)
            if t in self.topics:
                if q.get('goto') == 'newpost':
                    last = self.topics[t][-1]
                    return self.go(f'/showthread.php?p={last}#post{last}', 302)
                posts, start = self.part(t, start)
                links = [f'/showthread.php?p={x[1:]}#post{x[1:]}' for x in posts]
                links += [f'/showpost.php?p={posts[0][1:]}&postcount=1']
                links += [f'/showthread.php?t={t}&page={k // 10 + 1}'
                          for k in range(0, len(self.topics[t]), 10)]
                return self.page(*posts, links=links)


class Discourse(Board):
    """Discourse: a topic with its slug, at each of its posts, with `?u=` of who shared it."""

    def show(self, p, q, at):
        if p == '/' or p == '/latest':
            k = num(q, 'page')
            mine = list(self.topics)[k * 15:k * 15 + 15]
            return self.list([(f'/t/{self.slug(f"d{t}")}/{t}', f'd{t}') for t in mine],
                             [f'/latest?page={k + 1}'] if mine else [])
        if (g := m(r'/t/(\d+)', p)) and g[0] in self.topics:
            return self.go(f'/t/{self.slug(f"d{g[0]}")}/{g[0]}')
        if (g := m(r'/t/[^/]+/(\d+)(?:/(\d+))?', p)) and g[0] in self.topics:
            t, count = g[0], len(self.topics[g[0]])
            posts, start = self.part(t, (g[1] or 1) - 1 if g[1] else 10 * num(q, 'page', 1) - 10)
            slug = f'/t/{self.slug(f"d{t}")}/{t}'
            links = [f'{slug}/{start + k + 1}' for k in range(len(posts))]
            links += [f'{slug}?u=user{self.h(t) % 5}', f'/t/{t % len(self.topics) + 1}']
            links += [f'{slug}?page={start // 10 + 2}'] * (start + 10 < count)
            return self.page(*posts, links=links)


class Wiki(Site):
    """MediaWiki: `/wiki/T`, `index.php?title=T`, `printable`, old versions, pages that redirect."""
    size = 90, 130

    def show(self, p, q, at):
        name = lambda i: self.slug(f'd{i}').replace('-', '_').capitalize() + f'_{i}'
        title = m(r'/wiki/(.*)', p)
        title = title[0] if title else q.get('title', '') if p == '/index.php' else None
        if p == '/' or title in ('Special:AllPages', 'Main_Page'):
            k = num(q, 'from')
            more = [f'/index.php?title=Special:AllPages&from={k + 30}'] if k + 30 < self.n else []
            return self.list([(f'/wiki/{name(i)}', f'd{i}') for i in self.ids[k:k + 30]], more)
        if g := m(r'(Old_)?.*?_(\d+)', str(title)):
            i = g[1]
            if not self.ok(i):
                return None
            if q.get('action') == 'edit':
                return self.notice('You must log in to edit pages.')
            url, old = f'/index.php?title={name(i)}', self.h(i) % 4 == 0
            if q.get('action') == 'history':
                return self.list([(f'{url}&oldid={i * 10 + k}', f'{"ed"[k]}{i}') for k in (0, 1)
                                  if k or old])
            links = [f'{url}&action=history', f'{url}&action=edit', f'{url}&printable=yes',
                     f'{url}&oldid={i * 10 + 1}']
            side = [f'/wiki/{"Old_" * (self.h(i, k) % 4 == 0)}{name(k)}' for k in self.near(i)]
            doc = f'e{i}' if old and num(q, 'oldid') == i * 10 else f'd{i}'
            return self.page(doc, links=links, side=side)


class Wordpress(Site):
    """WordPress: `?p=` redirects, `/feed/`, `/amp/`, `replytocom`, archives by date and subject."""

    def show(self, p, q, at):
        url = lambda i: f'/202{i % 4}/0{i % 7 + 1}/{self.slug(f"d{i}")}-{i}/'
        if p == '/' and self.ok(num(q, 'p')):
            return self.go(url(num(q, 'p')))
        if g := m(r'/(?:category/(\d))?(?:(202\d)/(?:0(\d)/)?)?/?(?:page/(\d+)/)?', p):
            c, y, mo, k = g
            mine = [i for i in self.ids if c in (None, i % 5) and y in (None, 2020 + i % 4)
                    and mo in (None, i % 7 + 1)]
            k = max(k or 1, 1)
            more = [f'{p.split("page/")[0].rstrip("/")}/page/{k + 1}/'] * (k * 20 < len(mine))
            side = [f'/category/{x}/' for x in range(5)] + [f'/202{x}/' for x in range(4)]
            return self.list([(url(i), f'd{i}') for i in mine[k * 20 - 20:k * 20]], more, side)
        if (g := m(r'/202\d/0\d/.*-(\d+)(/feed|/amp)?/', p)) and self.ok(g[0]):
            i, form = g
            if form == '/feed':
                return self.notice('No comments yet; the feed is empty.')
            links = [f'{url(i)}feed/', f'{url(i)}amp/', f'/?p={self.near(i)[1]}',
                     f'/202{i % 4}/0{i % 7 + 1}/']
            links += [f'{url(i)}?replytocom={i * 9 + k}#respond' for k in range(self.h(i) % 4)]
            return self.page(f'd{i}', links=links if not form else [url(i)])


class Magento(Site):
    """Magento: products under several categories and none, facets, orders, limits, `SID`."""

    def show(self, p, q, at):
        sid = f'?SID={self.h(p) % 2 + 5:x}' if self.h(p, 1) % 5 == 0 else ''
        if p == '/':
            return self.list([(f'/c{k}.html{sid}', f'section {k}') for k in range(6)])
        if (g := m(r'/c(\d)\.html', p)) and g[0] < 6:
            k, page, colour = g[0], max(num(q, 'p', 1), 1), q.get('colour')
            mine = [i for i in self.ids if k in (i % 6, i % 5)]
            mine = [i for i in mine if colour in (None, str(i % 3))]
            mine = mine[::-1] if q.get('dir') == 'desc' else mine
            links = [f'/c{k}.html?colour={c}' for c in range(3)] * (not q)
            links += [f'/c{k}.html?dir=desc&order=name', f'/c{k}.html?limit=25'] * (not q)
            rest = urllib.parse.urlencode({x: y for x, y in q.items() if x != 'p'})
            links += [f'/c{k}.html?{rest}{"&" * bool(rest)}p={page + 1}'] * (page * 25 < len(mine))
            return self.list([(f'/c{k}/{self.slug(f"d{i}")}-{i}.html{sid}', f'd{i}')
                              for i in mine[page * 25 - 25:page * 25]], links)
        if (g := m(r'(?:/c\d)?/[a-z-]+-(\d+)\.html', p)) and self.ok(g[0]):
            url = lambda i: f'/{self.slug(f"d{i}")}-{i}.html'
            return self.page(f'd{g[0]}', side=[url(i) for i in self.near(g[0])],
                             links=[url(g[0]) + '?___store=default'])


class Opencart(Site):
    """OpenCart: `route=` with `path`, `sort`, `order`, `limit` carried along to the product."""

    def show(self, p, q, at):
        route, i, carry = q.get('route', ''), num(q, 'product_id'), ''
        if p not in ('/', '/index.php'):
            return None
        if route in ('', 'common/home'):
            return self.list([(f'/index.php?route=product/category&path={k}', f'section {k}')
                              for k in range(20, 25)], ['/index.php?route=common/home'])
        if route == 'product/category':
            path, page = num(q, 'path'), max(num(q, 'page', 1), 1)
            mine = [i for i in self.ids if i % 5 + 20 == path]
            carry = ''.join(f'&{x}={q[x]}' for x in ('sort', 'order') if x in q)
            url = f'/index.php?route=product/category&path={path}'
            mine = mine if q.get('order') != 'DESC' else mine[::-1]
            links = [f'{url}&sort=p.price&order={x}' for x in ('ASC', 'DESC')] * (not carry)
            links += [f'{url}{carry}&page={page + 1}'] * (page * 15 < len(mine))
            url = f'/index.php?route=product/product&path={path}&product_id='
            return self.list([(f'{url}{i}{carry}', f'd{i}')
                              for i in mine[page * 15 - 15:page * 15]], links)
        if route == 'product/product' and self.ok(i):
            return self.page(f'd{i}', side=[f'/index.php?route=product/product&product_id={k}'
                                            for k in self.near(i)])


class Prestashop(Site):
    """PrestaShop: number before a slug that is ignored, `content_only`, two languages in full."""
    size = 70, 100

    def show(self, p, q, at):
        if p == '/':
            return self.go('/en/', 302)
        if not (g := m(r'/(en|fr)/(.*)', p)):
            return None
        lang, rest = g
        url = lambda i, x=lang, c='': f'/{x}/{c}{i}-{self.slug(f"{x}{i}")}.html'
        if g := m(r'(?:(\d+)-c)?', str(rest)):
            k = g[0]
            mine = [i for i in self.ids if i % 5 == k]
            items = [(f'/{lang}/{j}-c', f'section {lang}{j}') for j in range(5)]
            if k is not None:
                items = [(url(i, c=f'c{k}/'), f'{lang}{i}') for i in mine]
            order = [f'{p}?order=price.{x}' for x in ('asc', 'desc')]
            return self.list(items, order * (not q), [f'/{"fr" if lang == "en" else "en"}/'])
        if (g := m(r'(?:c\d/)?(\d+)-.*\.html', str(rest))) and self.ok(g[0]):
            i, other = g[0], 'fr' if lang == 'en' else 'en'
            return self.page(f'{lang}{i}', side=[url(k) for k in self.near(i)],
                             links=[url(i, other), url(i) + '?content_only=1'])


class Drupal(Site):
    """Drupal: node and alias, `/print`, comments whose links lead to the node, `destination`."""

    def show(self, p, q, at):
        alias = lambda i: f'/content/{self.slug(f"d{i}")}-{i}'
        if g := m(r'/(?:taxonomy/term/(\d+))?', p):
            k, page = g[0], num(q, 'page')
            if k is None:
                return self.list([(f'/taxonomy/term/{j}', f'term {j}') for j in range(6)])
            mine = [i for i in self.ids if i % 6 == k]
            more = [f'{p}?page={page + 1}'] * (page * 15 + 15 < len(mine))
            return self.list([(alias(i), f'd{i}') for i in mine[page * 15:page * 15 + 15]], more)
        if p == '/user/login':
            return self.notice('Please log in to comment.')
        g = m(r'/(?:node|print)/(\d+)|/content/.*-(\d+)|/comment/(\d+)', p)
        i = g and (g[0] or g[1] or g[2] // 10)
        if g and self.ok(i):
            links = [f'/node/{i}', f'/print/{i}', f'/user/login?destination=node/{i}']
            links += [f'/comment/{i * 10 + k}#comment-{i * 10 + k}' for k in range(self.h(i) % 3)]
            return self.page(f'd{i}', links=links, side=[alias(k) for k in self.near(i)])


class Joomla(Site):
    """Joomla: `id=5:slug`, `catid`, an `Itemid` for each menu, `tmpl=component&print=1`."""

    def show(self, p, q, at):
        if p not in ('/', '/index.php'):
            return None
        view, i = q.get('view'), num({'id': q.get('id', '').split(':')[0]}, 'id')
        com = '/index.php?option=com_content&view='
        if not view:
            return self.list([(f'{com}category&id={k}&Itemid={100 + k}', f'section {k}')
                              for k in range(1, 6)])
        if view == 'category':
            mine = [x for x in self.ids if x % 5 + 1 == i]
            item = q.get('Itemid', '100')
            return self.list([(f'{com}article&id={x}:{self.slug(f"d{x}")}&catid={i}&Itemid={item}',
                               f'd{x}') for x in mine])
        if view == 'article' and self.ok(i):
            url = f'{com}article&id={i}'
            links = [f'{url}&catid={i % 5 + 1}&tmpl=component&print=1&page=']
            side = [f'{com}article&id={k}&Itemid={101 + self.h(i) % 4}' for k in self.near(i)]
            return self.page(f'd{i}', links=links, side=side)


class Dspace(Site):
    """DSpace: handles under two interfaces, `show=full` with more text, browse lists with `rpp`."""

    def show(self, p, q, at):
        if p == '/':
            return self.list([(f'/{x}/browse?type={t}', f'by {t}') for x in ('xmlui', 'jspui')
                              for t in ('title', 'author', 'date')])
        if g := m(r'/(xmlui|jspui)/browse', p):
            off, order = num(q, 'offset'), q.get('type', 'title')
            mine = sorted(self.ids, key=lambda i: self.h(i, order))
            more = [f'{p}?type={order}&offset={off + 30}'] * (off + 30 < self.n)
            more += [f'{p}?type={order}&order=ASC&rpp=30'] * (not off)
            return self.list([(f'/{g[0]}/handle/123456789/{i}', f'd{i}')
                              for i in mine[off:off + 30]], more)
        if (g := m(r'/(?:(xmlui|jspui)/)?handle/\d+/(\d+)', p)) and self.ok(g[1]):
            i = g[1]
            more = [f'o{i}'] if q.get('show') == 'full' and i % 10 == 0 else []
            links = [f'{p}?show=full'] * (i % 10 == 0) + [f'/handle/123456789/{i}']
            return self.page(f'd{i}', *more, links=links)


class Opac(Site):
    """A library catalogue: records in three views, with the search that led to them."""
    size = 90, 130

    def show(self, p, q, at):
        if p == '/':
            return self.list([(f'/opac-search.pl?q=su:{k}', f'subject {k}') for k in range(8)])
        if p == '/opac-search.pl' and (g := m(r'su:(\d+)', q.get('q', ''))):
            mine = [i for i in self.ids if g[0] in (i % 8, i % 7)]
            sort = [f'{p}?q=su:{g[0]}&sort_by={x}' for x in ('title_az', 'pubdate')] * (len(q) < 2)
            return self.list([(f'/opac-detail.pl?biblionumber={i}&query_desc=su:{g[0]}', f'd{i}')
                              for i in mine], sort)
        i = num(q, 'biblionumber')
        if p in ('/opac-detail.pl', '/opac-ISBDdetail.pl', '/opac-MARCdetail.pl') and self.ok(i):
            links = [f'/opac-{x}detail.pl?biblionumber={i}' for x in ('ISBD', 'MARC', '')]
            return self.page(f'marc{i}' if 'MARC' in p else f'd{i}', links=links)


class Listing(Site):
    """Apache's listings, in any order (`?C=N;O=D`), of texts and folders."""

    def show(self, p, q, at):
        order = [f'?C={c};O={o}' for c in 'NMS' for o in 'AD']
        folder = lambda i: f'/f{i % 12}/' if i % 3 else f'/f{i % 12}/sub/'
        if p == '/':
            return self.list([(f'/f{k}/', f'folder {k}') for k in range(12)], order)
        if g := m(r'(/f\d+/(?:sub/)?)(?:(\d+)\.html)?', p):
            where, i = g
            if i is None:
                mine = [i for i in self.ids if folder(i) == where]
                mine = mine[::-1] if q.get('O') == 'D' else mine
                below = [(f'{where}sub/', 'folder sub')] if 'sub' not in where else []
                return self.list([(f'{where}{i}.html', f'd{i}') for i in mine] + below, order)
            if self.ok(i) and folder(i) == where:
                return self.page(f'd{i}')


class Gitweb(Site):
    """A browser of a repository: files at each commit by `id` or `h`, plain, with many versions."""
    size = 25, 40

    def show(self, p, q, at):
        last = 3
        v = num(q, 'id', last) if 'id' in q else last
        rev = f'?id={v}' if 'id' in q else '?h=master' if 'h' in q else ''
        if p in ('/', '/log/'):
            return self.list([(f'/commit/?id={k}', f'commit {k}') for k in range(last + 1)],
                             ['/tree/', '/tree/?h=master', '/log/?h=master'])
        if p == '/commit/' and v <= last:
            return self.page(f'commit {v}', links=[f'/tree/?id={v}', f'/commit/?h=master&id={v}'])
        doc = lambda i: self.version(i, v, 0)
        if p == '/tree/' and v <= last:
            return self.list([(f'/blob/f{i}.c{rev}', doc(i)) for i in self.ids])
        if (g := m(r'/(blob|plain|blame)/f(\d+)\.c', p)) and self.ok(g[1]) and v <= last:
            i = g[1]
            return self.page(doc(i), links=[f'/plain/f{i}.c{rev}', f'/blame/f{i}.c{rev}'])


class Calendar(Site):
    """A booking calendar: events on several days, three views, `return` to where one came from."""
    size = 100, 140

    def show(self, p, q, at):
        if p == '/':
            return self.go('/calendar', 302)
        if p == '/calendar':
            month, view = num(q, 'month', 1), q.get('view', 'month')
            mine = [i for i in self.ids if month in (i % 9 + 1, i % 7 + 1)]
            links = [f'/calendar?month={month % 9 + 1}', f'/calendar?month={month}&view=list',
                     f'/calendar?month={month}&view=month']
            return self.list([(f'/event/{i}?return=/calendar?month={month}', f'd{i}')
                              for i in mine], links if view in ('month', 'list') else [])
        if (g := m(r'/event/(\d+)(/ical)?', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'd{i}', links=[f'/event/{i}?view=print', f'/event/{i}?day={i % 28}'],
                             side=[f'/event/{k}' for k in self.near(i)])


class Newspaper(Site):
    """A newspaper: `utm_source`, `ref` of the place of a link, `/amp`, print; true canonicals."""

    def show(self, p, q, at):
        url = lambda i: f'/s{i % 6}/{self.slug(f"d{i}")}-{i}.html'
        if g := m(r'/(?:s/(\d+))?', p):
            return self.catalogue(p, q, lambda i: url(i) + (f'?ref=s{i % 6}' if i % 2 else ''))
        if (g := m(r'(?:/amp)?/s\d/.*-(\d+)\.html', p)) and self.ok(g[0]):
            i = g[0]
            head = f'<link rel="canonical" href="http://{self.domain}{url(i)}">'
            links = ['/amp' + url(i), url(i) + '?outputType=print', url(i)]
            side = [url(k) + f'?utm_source=more&utm_medium=box{j}'
                    for j, k in enumerate(self.near(i))]
            return self.page(f'd{i}', links=links, side=side, head=head)


class Jsessionid(Site):
    """A Java server: `;jsessionid=` in the path, kept along links, now and then a new one."""

    def show(self, p, q, at):
        p, _, sid = p.partition(';jsessionid=')
        key = self.h(p, q.get('id'))
        sid = f';jsessionid={(key % 7 and sid) or f"{key // 7 % 3 + 160:X}"}'
        if p in ('/', '/index.do'):
            return self.list([(f'/list.do{sid}?group={k}', f'group {k}') for k in range(6)])
        if p == '/list.do':
            mine = [i for i in self.ids if i % 6 == num(q, 'group')]
            return self.list([(f'/show.do{sid}?id={i}', f'd{i}') for i in mine])
        if p == '/show.do' and self.ok(num(q, 'id')):
            i = num(q, 'id')
            return self.page(f'd{i}', links=[f'/index.do{sid}'],
                             side=[f'/show.do{sid}?id={k}' for k in self.near(i)[:2]])


class AspSession(Site):
    """A server that puts the session before the path, `/(S(...))/`, and ignores case."""

    def show(self, p, q, at):
        p, q = p.lower(), {k.lower(): v for k, v in q.items()}
        g = m(r'(/\(s\(\w+\)\))?(/.*)', p)
        s = f'/(S(x{self.h(g[1], num(q, "id")) % 2}))' if not g[0] or self.h(g[1]) % 9 == 0 else \
            g[0].replace('s(', 'S(')
        if g[1] in ('/', '/default.aspx'):
            return self.list([(f'{s}/List.aspx?Cat={k}', f'section {k}') for k in range(5)])
        if g[1] == '/list.aspx':
            mine = [i for i in self.ids if i % 5 == num(q, 'cat')]
            return self.list([(f'{s}/Item.aspx?ID={i}', f'd{i}') for i in mine])
        if g[1] == '/item.aspx' and self.ok(num(q, 'id')):
            i = num(q, 'id')
            return self.page(f'd{i}', side=[f'{s}/item.aspx?id={k}' for k in self.near(i)],
                             links=['/Default.aspx'])


class Languages(Site):
    """Two languages in full; the default one under `/en/`, `?lang=en` and neither."""
    size = 80, 110

    def show(self, p, q, at):
        g = m(r'(?:/(en|de))?(/.*)', p)
        lang, pre, p = q.get('lang', g[0] or 'en'), f'/{g[0]}' if g[0] else '', g[1]
        if lang not in ('en', 'de'):
            lang = 'en'
        if p == '/':
            return self.list([(f'{pre}/t/{k}', f'{lang} topic {k}') for k in range(5)],
                             ['/en/', '/de/', '/?lang=de'])
        if g := m(r'/t/(\d)', p):
            mine = [i for i in self.ids if i % 5 == g[0]]
            return self.list([(f'{pre}/page/{i}', f'{lang}{i}') for i in mine])
        if (g := m(r'/page/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'{lang}{i}', links=[f'/page/{i}?lang=en', f'/page/{i}?lang=de'],
                             side=[f'{pre}/page/{k}' for k in self.near(i)])


class Caseless(Site):
    """A server that ignores case, with links in three spellings."""

    def show(self, p, q, at):
        spell = lambda x, key: [x, x.title(), x.lower()][self.h(key) % 3]
        if (g := m(r'/products/(\d+)/item\.htm', p.lower())) and self.ok(g[0]):
            return self.page(f'd{g[0]}', side=[spell(f'/products/{k}/Item.htm', (g[0], k))
                                               for k in self.near(g[0]) + self.near(g[0], 11)])
        href = lambda i: spell(f'/Products/{i}/Item.htm', i)
        return self.catalogue(p.lower(), q, href, base='/list')


class Hosts(Site):
    """One site under its name, `www.` and an old name, all without redirects."""
    hosts = ['', 'www.', 'old.']

    def show(self, p, q, at):
        if (g := m(r'/page/(\d+)\.html', p)) and self.ok(g[0]):
            other = self.hosts[self.h(g[0]) % 3]
            return self.page(f'd{g[0]}', side=[f'http://{other}{self.domain}/page/{k}.html'
                                               for k in self.near(g[0])])
        return self.catalogue(p, q, lambda i: f'/page/{i}.html')


class Slash(Site):
    """Folders with and without a slash, `index.html`, and a doubled slash."""

    def show(self, p, q, at):
        ends = ['', '/', '/index.html']
        if g := m(r'/+docs/+(\d+)(?:/|/index\.html)?', p):
            if self.ok(g[0]):
                side = [f'/docs/{"/" * (self.h(k) % 9 == 0)}{k}{ends[self.h(g[0], k) % 3]}'
                        for k in self.near(g[0]) + self.near(g[0], 5)]
                return self.page(f'd{g[0]}', side=side)
        return self.catalogue(p, q, lambda i: f'/docs/{i}{ends[i % 3]}')


class Questions(Site):
    """Questions with answers: the slug is ignored, `/q/` and `/a/` redirect, three orders."""
    size = 80, 120

    def show(self, p, q, at):
        url = lambda i: f'/questions/{i}/{self.slug(f"d{i}")}'
        if (g := m(r'/q/(\d+)', p)) and self.ok(g[0]):
            return self.go(url(g[0]))
        if (g := m(r'/a/(\d+)', p)) and self.ok(g[0] // 10):
            return self.go(f'{url(g[0] // 10)}/{g[0]}#{g[0]}', 302)
        if (g := m(r'/questions/(\d+)(?:/.*)?', p)) and self.ok(g[0]):
            i = g[0]
            answers = [f'a{i * 10 + k}' for k in range(self.h(i) % 4)]
            answers = answers[::-1] if q.get('answertab') == 'oldest' else answers
            links = [f'{url(i)}?answertab={x}' for x in ('votes', 'oldest')] * (len(answers) > 1)
            links += [f'{url(i)}/{x[1:]}#{x[1:]}' for x in answers] + [f'/q/{i}']
            links += [f'/a/{x[1:]}' for x in answers[:1]]
            return self.page(f'd{i}', *answers, links=links,
                             side=[f'/questions/{k}' for k in self.near(i)[1:]])
        return self.catalogue(p, q, url, base='/tagged')


class Versions(Site):
    """A manual by version: `latest` is `v3`; of the older ones a third of the pages differ."""
    size = 50, 80

    def show(self, p, q, at):
        names = {'latest': 3, 'v3': 3, 'v2': 2, 'v1': 1}
        g = m(r'/(\w+)/(?:p(\d+)\.html)?', '/latest/' if p == '/' else p)
        if not g or g[0] not in names:
            return None
        v = names[g[0]]
        doc = lambda i: self.version(i, v, 1)
        if g[1] is None:
            return self.list([(f'/{g[0]}/p{i}.html', doc(i)) for i in self.ids],
                             [f'/{x}/' for x in names])
        if self.ok(g[1]):
            side = [f'/{x}/p{g[1]}.html' for x in names]
            return self.page(doc(g[1]), side=side, links=[f'p{k}.html' for k in self.near(g[1])])


class Mobile(Site):
    """A host for small screens, and `?m=1` on the large one."""
    hosts = ['', 'm.']

    def show(self, p, q, at):
        if (g := m(r'/story/(\d+)', p)) and self.ok(g[0]):
            i, other = g[0], 'm.' if not at else ''
            return self.page(f'd{i}', links=[f'http://{other}{self.domain}/story/{i}'] +
                             [f'/story/{i}?m=1'] * (not at and i % 3 == 0),
                             side=[f'/story/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/story/{i}')


class ApiDocs(Site):
    """API pages: as such, in a frame's address, with `is-external`, and where each is used."""

    def show(self, p, q, at):
        cls = lambda i: f'org/pkg{i % 9}/C{i}.html'
        if p in ('/', '/api/', '/api/index.html', '/api/allclasses.html'):
            k = num(q, 'letter')
            mine = [i for i in self.ids if i % 4 == k]
            return self.list([(f'/api/{cls(i)}', f'd{i}') for i in mine],
                             [f'/api/allclasses.html?letter={x}' for x in range(4)])
        if (g := m(r'/api/org/pkg\d/(class-use/)?C(\d+)\.html', p)) and self.ok(g[1]):
            i = g[1]
            if g[0]:
                return self.list([(f'/api/{cls(k)}', f'd{k}') for k in self.near(i)])
            return self.page(f'd{i}', links=[f'/api/org/pkg{i % 9}/class-use/C{i}.html'],
                             side=[f'/api/{cls(k)}?is-external=true' for k in self.near(i)])


class Tabs(Site):
    """Products with tabs, all of them in each page; the tab is a parameter."""

    def show(self, p, q, at):
        if (g := m(r'/product/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'd{i}', f'spec{i}', side=[f'/product/{k}' for k in self.near(i)],
                             links=[f'/product/{i}?tab={x}' for x in ('text', 'specs', 'reviews')])
        return self.catalogue(p, q, lambda i: f'/product/{i}')


class Gallery(Site):
    """Pictures with captions: by album, size, slide show and where one came from."""

    def show(self, p, q, at):
        i = num(q, 'id')
        if p == '/photo.php' and self.ok(i):
            links = [f'/photo.php?id={i}&size={x}' for x in ('s', 'l')] * ('size' not in q)
            links += [f'/photo.php?id={i % self.n + 1}&from=slideshow', f'/album.php?a={i % 6}']
            return self.page(f'd{i}', links=links)
        if p == '/album.php':
            mine = [i for i in self.ids if i % 6 == num(q, 'a')]
            return self.list([(f'/photo.php?id={i}&from=album', f'd{i}') for i in mine])
        if p == '/':
            return self.list([(f'/album.php?a={k}', f'album {k}') for k in range(6)])


class Jumps(Site):
    """Anchors made into parameters (`?goto=sec3`), and `?highlight=` of a search."""

    def show(self, p, q, at):
        if (g := m(r'/text/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            links = [f'/text/{i}?goto=sec{k}' for k in range(self.h(i) % 4)]
            side = [f'/text/{k}?highlight={self.slug(f"d{k}").split("-")[0]}' for k in self.near(i)]
            return self.page(f'd{i}', links=links, side=side)
        return self.catalogue(p, q, lambda i: f'/text/{i}')


# TRAPS: a rule that is right for most pages is wrong for some.

class Trap(Site):
    """A kind of which some documents hide behind a form that is a copy elsewhere."""
    trap = True


class ParamSome(Trap):
    """`v=2` shows what is shown without it, but on reference pages the second edition."""

    def show(self, p, q, at):
        if (g := m(r'/article/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'o{i}' if q.get('v') == '2' and i in self.odd else f'd{i}',
                             links=[f'/article/{i}?v=1', f'/article/{i}?v=2'],
                             side=[f'/article/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/article/{i}')


class PrintSome(Trap):
    """`print=1` shows the same, but where there is an appendix it is printed only."""

    def show(self, p, q, at):
        if (g := m(r'/a/(\d+)\.html', p)) and self.ok(g[0]):
            more = [f'o{g[0]}'] if 'print' in q and g[0] in self.odd else []
            return self.page(f'd{g[0]}', *more, links=[f'{p}?print=1'],
                             side=[f'/a/{k}.html' for k in self.near(g[0])])
        return self.catalogue(p, q, lambda i: f'/a/{i}.html')


class SlugSome(Trap):
    """The slug beside the number is ignored, but some numbers were given twice."""

    def show(self, p, q, at):
        url = lambda i, k: f'/item/{i}-{self.slug(f"{k}{i}")}'
        if (g := m(r'/item/(\d+)-(.*)', p)) and self.ok(g[0]):
            i = g[0]
            doc = f'o{i}' if i in self.odd and g[1] == self.slug(f'o{i}') else f'd{i}'
            return self.page(doc, side=[url(k, 'od'[self.h(i, k) % 2]) for k in self.near(i)])
        return self.catalogue(p, q, lambda i: [url(i, 'd'), url(i, 'o')] if i % 2 else url(i, 'd')
                              if i not in self.odd else [url(i, 'd'), url(i, 'o')])


class PageOneSome(Trap):
    """`page=1` is the page without it; long reports show without it a summary instead."""

    def show(self, p, q, at):
        if (g := m(r'/report/(\d+)', p)) and self.ok(g[0]):
            i, page = g[0], num(q, 'page')
            long = i in self.odd
            doc = f'd{i}' if page < 2 and not (long and page) else f'o{i}.{page}'
            if page > 2 or page == 2 and not (long or i % 3 == 0):
                return None
            links = [f'/report/{i}?page=1'] + [f'/report/{i}?page=2'] * (long or i % 3 == 0)
            return self.page(doc, links=links, side=[f'/report/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/report/{i}')


class LangSome(Trap):
    """`lang=` falls back to English where nothing is translated; a few pages are."""

    def show(self, p, q, at):
        if (g := m(r'/page/(\d+)', p)) and self.ok(g[0]):
            i, lang = g[0], q.get('lang', 'en')
            done = i in self.odd and lang == 'fr'
            note = '' if done or lang == 'en' else '<p>This page is not yet translated.</p>'
            return self.page(f'o{i}' if done else f'd{i}', also=note,
                             links=[f'/page/{i}?lang={x}' for x in ('en', 'fr')],
                             side=[f'/page/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/page/{i}')


class CaseSome(Trap):
    """Case is ignored, but not in a folder that lies on another server."""

    def show(self, p, q, at):
        spell = lambda i, key: f'/{"docs" if self.h(key) % 2 else "Docs"}/n{i}.htm'
        if g := m(r'/(?:Docs|docs)/files/([a-zA-Z]+)(\d+)\.htm', p):
            if g[1] in self.odd and g[0] in ('note', 'Note'):
                return self.page(f'd{g[1]}' if g[0] == 'note' else f'o{g[1]}')
            return None
        if (g := m(r'/docs/n(\d+)\.htm', p.lower())) and self.ok(g[0]) and g[0] not in self.odd:
            return self.page(f'd{g[0]}', side=[spell(k, (g[0], k)) for k in self.near(g[0])
                                               + self.near(g[0], 11) if k not in self.odd])
        return self.catalogue(p.lower(), q, lambda i: spell(i, i) if i not in self.odd else
                              [f'/docs/files/note{i}.htm', f'/docs/files/Note{i}.htm'])


class SoftMissing(Trap):
    """`/p/5` is `/view?id=5`; some pages are there under one form alone, the other says sorry."""

    def show(self, p, q, at):
        g = m(r'/p/(\d+)', p)
        i = g[0] if g else num(q, 'id')
        if (g or p == '/view') and self.ok(i):
            if i in self.odd and (self.odd.index(i) % 2 == 0) == bool(g):
                return self.notice('Sorry, what you seek is not here any more. Try the home page.')
            return self.page(f'd{i}', links=[f'/p/{i}', f'/view?id={i}'], side=[
                f'/p/{k}' if self.h(i, k) % 2 else f'/view?id={k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: [f'/p/{i}', f'/view?id={i}'])


class LoginSome(Trap):
    """`access=guest` changes nothing, but some pages show a wall without it."""

    def show(self, p, q, at):
        if (g := m(r'/paper/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            links = [f'/paper/{i}?access=guest']
            if i in self.odd and q.get('access') != 'guest':
                return self.notice('Please log in, or read this paper as a guest.', links)
            return self.page(f'd{i}', links=links, side=[f'/paper/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/paper/{i}')


class ChangingSome(Trap):
    """Tickers change at each look; `ed=late` is the same page but where there was more news."""

    def show(self, p, q, at):
        if (g := m(r'/ticker/(\d+)', p)) and g[0] < 20:
            now = ' '.join(self.prose(self.look, 60))
            return self.notice(now, [f'{p}?ed=late', f'{p}?ed=early'] * (not q))
        if (g := m(r'/news/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'o{i}' if i in self.odd and q.get('ed') == 'late' else f'd{i}',
                             links=[f'{p}?ed=late', f'{p}?ed=early', f'/ticker/{i % 20}'],
                             side=[f'/news/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/news/{i}')


class FolderSome(Trap):
    """`/archive/5` is `/news/5`, but some numbers were used again after the archive was made."""

    def show(self, p, q, at):
        if (g := m(r'/(news|archive)/(\d+)', p)) and self.ok(g[1]):
            i = g[1]
            doc = f'o{i}' if i in self.odd and g[0] == 'archive' else f'd{i}'
            return self.page(doc, links=[f'/{"news" if i % 2 else "archive"}/{k}'
                                         for k in self.near(i)])
        return self.catalogue(p, q, lambda i: [f'/news/{i}', f'/archive/{i}'])


class DefaultSome(Trap):
    """`view=text` is the default, but in one section it is `view=photo`, with other words."""

    def show(self, p, q, at):
        if (g := m(r'/in(\d)/(\d+)', p)) and self.ok(g[1]):
            k, i = g
            photo = i in self.odd and q.get('view') != 'text'
            links = [f'{p}?view=text'] + [f'{p}?view=photo'] * (i in self.odd)
            return self.page(f'd{i}' if not photo else f'o{i}', links=links)
        return self.catalogue(p, q, lambda i: f'/in{9 if i in self.odd else i % 6}/{i}')


class SortSome(Trap):
    """Orders of a list of one page are one; longer ones show their first ten, and no more."""

    def draw(self):
        self.lists, rest = [], list(self.ids)
        while rest:
            k = self.rng.randint(12, 15) if len(self.lists) % 9 == 5 else self.rng.randint(4, 9)
            self.lists.append([rest.pop(0) for _ in range(min(k, len(rest)))])

    def show(self, p, q, at):
        if p == '/':
            return self.list([(f'/c/{k}', f'section {k}') for k in range(len(self.lists))])
        if (g := m(r'/c/(\d+)', p)) and g[0] < len(self.lists):
            mine = self.lists[g[0]]
            mine = mine[::-1] if q.get('sort') == 'price_desc' else mine
            return self.list([(f'/p/{i}', f'd{i}') for i in mine[:10]],
                             [f'{p}?sort={x}' for x in ('price_asc', 'price_desc', 'name')])
        if (g := m(r'/p/(\d+)', p)) and self.ok(g[0]):
            return self.page(f'd{g[0]}')


class BackSome(Board):
    """`?post=77` leads back to the page of its topic, but in long topics to its second page."""
    trap = True

    def draw(self):
        self.topics, self.topic, t = {}, {}, 0
        rest = list(self.ids)
        while rest:
            t += 1
            k = self.rng.randint(12, 15) if t % 8 == 5 else self.rng.randint(2, 8)
            self.topics[t], rest = rest[:k], rest[k:]
        self.topic = {i: t for t, posts in self.topics.items() for i in posts}

    def show(self, p, q, at):
        if p == '/':
            k = num(q, 'from')
            mine = list(self.topics)[k:k + 10]
            return self.list([(f'/topic/{t}', f'd{self.topics[t][0]}') for t in mine],
                             [f'/?from={k + 10}'] * (k + 10 < len(self.topics)))
        if (g := m(r'/topic/(\d+)', p)) and g[0] in self.topics:
            t, i = g[0], num(q, 'post')
            posts, _ = self.part(t, self.where(i)[1] if self.topic.get(i) == t else 0)
            return self.page(*posts, links=[f'{p}?post={x}' for x in self.topics[t]])


class PostSome(BackSome):
    """`/post/77` leads back to the page of its topic, but in long topics to its second page."""

    def show(self, p, q, at):
        if (g := m(r'/post/(\d+)', p)) and self.ok(g[0]):
            t, start = self.where(g[0])
        elif (g := m(r'/topic/(\d+)', p)) and g[0] in self.topics:
            t, start = g[0], 0
        else:
            return super().show(p, q, at)
        return self.page(*self.part(t, start)[0], links=[f'/post/{x}' for x in self.topics[t]])


class StartSome(Board):
    """`start=` past the end shows the last page; it matters only in topics of several pages."""
    trap = True

    def draw(self):
        BackSome.draw(self)

    def show(self, p, q, at):
        if p == '/topic.php' and num(q, 't') in self.topics:
            t = num(q, 't')
            posts, _ = self.part(t, num(q, 'start'))
            links = [f'/topic.php?t={t}&start={s}' for s in (0, 10)]
            return self.page(*posts, links=links,
                             side=[f'/topic.php?t={(t + k) % len(self.topics) + 1}&start=10'
                                   for k in (0, 5)])
        k = num(q, 'from')
        mine = list(self.topics)[k:k + 10] if p == '/' else []
        return mine and self.list([(f'/topic.php?t={t}', f'd{self.topics[t][0]}') for t in mine],
                                  [f'/?from={k + 10}'] * (k + 10 < len(self.topics)))


class RedirectSome(Trap):
    """`/go/5` leads to `/doc/5`, but some lead to a page that nothing else names."""

    def show(self, p, q, at):
        if (g := m(r'/go/(\d+)', p)) and self.ok(g[0]):
            return self.go(f'/doc/{g[0] + 5000 if g[0] in self.odd else g[0]}', 302)
        if g := m(r'/doc/(\d+)', p):
            i = g[0]
            if self.ok(i) or i - 5000 in self.odd:
                doc = f'd{i}' if self.ok(i) else f'o{i}'
                return self.page(doc, links=[f'/go/{i % 5000}'],
                                 side=[f'/{"go" if k % 2 else "doc"}/{k}' for k in self.near(i)
                                       if self.ok(i)])
        return self.catalogue(p, q, lambda i: f'/doc/{i}')


class NumberSome(Trap):
    """`size=` changes nothing, but of some products a single number in the text."""

    def draw(self):
        for i in self.ids:
            rng = random.Random(self.h(self.seed, i))
            said = self.prose(rng, rng.randint(40, 70))
            for size in 'sml':
                mm = 100 + self.h(i, size if i in self.odd else '') % 700
                self.texts[f'd{i}{size}'] = said[:2] + [f'Length {mm} mm.'] + said[2:]

    def show(self, p, q, at):
        size = q.get('size', 'm')
        if (g := m(r'/tool/(\d+)', p)) and self.ok(g[0]) and size in 's m l'.split():
            i = g[0]
            return self.page(f'd{i}{size if i in self.odd else "m"}',
                             links=[f'/tool/{i}?size={x}' for x in 'sml'],
                             side=[f'/tool/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/tool/{i}')

    def title(self, doc):
        return super().title(doc + 'm' if m(r'd\d+', doc) else doc)

    def text(self, doc):
        return super().text(doc + 'm' if m(r'd\d+', doc) else doc)


class WordSome(Trap):
    """Short certificates that differ by a few words; `copy=2` by one word, and only for some."""

    def draw(self):
        form = self.prose(self.rng, 30)
        for i in self.ids:
            rng = random.Random(self.h(self.seed, i))
            who = ' '.join(rng.choices(self.words, k=3))
            for kind, word in ('d', 'granted'), ('o', 'revoked'):
                self.texts[f'{kind}{i}'] = [f'Certificate {i} for {who} was {word}.'] + form

    def show(self, p, q, at):
        if (g := m(r'/cert/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'o{i}' if i in self.odd and q.get('copy') == '2' else f'd{i}',
                             links=[f'/cert/{i}?copy={x}' for x in (1, 2)],
                             side=[f'/cert/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/cert/{i}')


class TabSome(Trap):
    """All tabs are in each page, but some products load a manual into theirs."""

    def show(self, p, q, at):
        if (g := m(r'/product/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            more = [f'o{i}'] if i in self.odd and q.get('tab') == 'manual' else [f'review{i}']
            return self.page(f'd{i}', *more, side=[f'/product/{k}' for k in self.near(i)],
                             links=[f'{p}?tab={x}' for x in ('manual', 'reviews')])
        return self.catalogue(p, q, lambda i: f'/product/{i}')


class CommentsSome(Trap):
    """`cpage=1` shows the comments the post shows, but of many comments it shows the oldest."""

    def show(self, p, q, at):
        if (g := m(r'/post/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            old, new = f'o{i}', [f'c{i}.{k}' for k in range(self.h(i) % 3)]
            shown = [old] if i in self.odd and q.get('cpage') == '1' else new
            return self.page(f'd{i}', *shown, links=[f'{p}?cpage=1', f'{p}?replytocom={i}7'],
                             side=[f'/post/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/post/{i}')


class HostSome(Trap):
    """`www.` shows what the bare name shows, but some pages were only edited on one of them."""
    hosts = ['', 'www.']

    def show(self, p, q, at):
        if (g := m(r'/page/(\d+)', p)) and self.ok(g[0]):
            doc = f'o{g[0]}' if g[0] in self.odd and at else f'd{g[0]}'
            return self.page(doc, side=[f'/page/{k}' for k in self.near(g[0])])
        return self.catalogue(p, q, lambda i: f'/page/{i}')


class MobileSome(Trap):
    """The host for small screens has the same pages, but some of the large one are walled."""
    hosts = ['', 'm.']

    def show(self, p, q, at):
        if (g := m(r'/story/(\d+)', p)) and self.ok(g[0]):
            i, other = g[0], '' if at else 'm.'
            links = [f'http://{other}{self.domain}/story/{i}']
            if i in self.odd and not at:
                return self.notice('This story is for subscribers. Log in to read it.', links)
            return self.page(f'd{i}', links=links, side=[f'/story/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/story/{i}')


class SlashSome(Trap):
    """`/x` is `/x/`, but some are a file beside a folder of the same name."""

    def show(self, p, q, at):
        if (g := m(r'/guide/(\d+)(/)?', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'o{i}' if i in self.odd and g[1] else f'd{i}',
                             side=[f'/guide/{k}{"/" * (self.h(i, k) % 2)}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: [f'/guide/{i}', f'/guide/{i}/'])


class VersionSome(Trap):
    """`latest` is `v2`, but some pages have been mended since."""

    def show(self, p, q, at):
        if (g := m(r'/(latest|v2)/p(\d+)\.html', p)) and self.ok(g[1]):
            i = g[1]
            return self.page(f'o{i}' if i in self.odd and g[0] == 'v2' else f'd{i}',
                             links=[f'/latest/p{i}.html', f'/v2/p{i}.html'],
                             side=[f'/{g[0]}/p{k}.html' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/{"v2" if i % 2 else "latest"}/p{i}.html')


class DateSome(Trap):
    """An event is the same on each of its days, but some days have a programme of their own."""

    def show(self, p, q, at):
        if (g := m(r'/event/(\d+)', p)) and self.ok(g[0]):
            i, day = g[0], q.get('date', '')
            doc = f'o{i}' if i in self.odd and day == f'2024-05-{i % 20 + 12}' else f'd{i}'
            return self.page(doc, links=[f'{p}?date=2024-05-{i % 20 + k}' for k in (10, 11, 12)],
                             side=[f'/event/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/event/{i}')


class FacetSome(Trap):
    """The colour of a product changes a picture only, but of some the description."""

    def show(self, p, q, at):
        colours = ['red', 'blue', 'grey']
        if (g := m(r'/shop/(\d+)\.html', p)) and self.ok(g[0]):
            i = g[0]
            doc = f'o{i}' if i in self.odd and q.get('colour') == colours[i % 3] else f'd{i}'
            return self.page(doc, links=[f'{p}?colour={c}' for c in colours],
                             side=[f'/shop/{k}.html' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/shop/{i}.html')


class OldidSome(Trap):
    """`oldid` of pages that were never changed is the page; some have an older version."""

    def show(self, p, q, at):
        name = lambda i: self.slug(f'd{i}').replace('-', '_') + f'_{i}'
        if (g := m(r'/wiki/.*_(\d+)', p)) and self.ok(g[0]):
            i, old = g[0], num(q, 'oldid')
            links = [f'{p}?oldid={3 * i + k}' for k in (0, 1)] if not old else []
            return self.page(f'o{i}' if i in self.odd and old == 3 * i else f'd{i}', links=links,
                             side=[f'/wiki/{name(k)}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/wiki/{name(i)}')


class MirrorSome(Trap):
    """A mirror in a folder, but some of its files are of another release."""

    def show(self, p, q, at):
        if (g := m(r'(/mirror)?/pub/(\d+)\.txt', p)) and self.ok(g[1]):
            return self.page(f'o{g[1]}' if g[1] in self.odd and g[0] else f'd{g[1]}')
        g = m(r'(/mirror)?(/.*)', p)
        pre, k = g[0] or '', m(r'/pub/d(\d)/', g[1])
        if k:
            return self.list([(f'{pre}/pub/{i}.txt', f'd{i}') for i in self.ids if i % 7 == k[0]])
        return self.list([(f'{pre}/pub/d{k}/', f'folder {k}') for k in range(7)],
                         ['/mirror/']) if g[1] == '/' else None


class AmpSome(Trap):
    """`/amp` shows the same, but of live reports the whole, where the page shows a summary."""

    def show(self, p, q, at):
        if (g := m(r'/n/(\d+)(/amp)?', p)) and self.ok(g[0]):
            i = g[0]
            doc = f'o{i}' if i in self.odd and g[1] else f'd{i}'
            head = f'<link rel="canonical" href="/n/{i}">' if g[1] else \
                f'<link rel="amphtml" href="/n/{i}/amp">'
            return self.page(doc, links=[f'/n/{i}/amp'], head=head,
                             side=[f'/n/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/n/{i}')


class CanonicalSome(Trap):
    """rel=canonical is right for `ref`, but second parts name the first as theirs."""

    def show(self, p, q, at):
        if (g := m(r'/post/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            second = q.get('part') == '2' and i in self.odd
            head = f'<link rel="canonical" href="http://{self.domain}/post/{i}">'
            links = [f'{p}?part={k}' for k in (1, 2)]
            return self.page(f'o{i}' if second else f'd{i}', head=head, links=links,
                             side=[f'/post/{k}?ref={"box" if k % 2 else "end"}'
                                   for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/post/{i}')


class UserSome(Trap):
    """`u=` says who shared a page and changes nothing, but on the page of people it is the one."""

    def show(self, p, q, at):
        i = num(q, 'id')
        who = lambda k: f'u={7 + self.h(k) % 9}'
        if p == '/read' and self.ok(i):
            by = f'/people?id=0&u={self.h(i) % 12 + 1}'
            return self.page(f'd{i}', links=[f'/read?id={i}&{who(i + 1)}', by],
                             side=[f'/read?id={k}&{who((i, k))}' for k in self.near(i)])
        if p == '/people' and 0 < num(q, 'u') < 13:
            return self.page(f'o{num(q, "u")}', links=['/people?id=0&u=1'])
        return self.catalogue(p, q, lambda i: f'/read?id={i}')


class ParentSome(Trap):
    """The folders before a page's name are ignored, but some names were used in two of them."""

    def show(self, p, q, at):
        if (g := m(r'/(\w+)/t(\d+)\.html', p)) and self.ok(g[1]):
            i = g[1]
            doc = f'o{i}' if i in self.odd and g[0] == 'offers' else f'd{i}'
            return self.page(doc, side=[f'/{["offers", "range"][self.h(i, k) % 2]}/t{k}.html'
                                        for k in self.near(i)])
        return self.catalogue(p, q, lambda i: [f'/range/t{i}.html', f'/offers/t{i}.html'])


class RegionSome(Trap):
    """`region=` is kept along all links and changes nothing, but for local news."""
    size = 80, 120

    def show(self, p, q, at):
        r = q.get('region')
        keep = f'?region={r}' if r in ('north', 'south') else ''
        if (g := m(r'/news/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            doc = f'o{i}{r[0]}' if i in self.odd and keep else f'd{i}'
            return self.page(doc, side=[f'/news/{k}{keep}' for k in self.near(i)],
                             links=[f'{p}?region={x}' for x in ('north', 'south')])
        return self.catalogue(p, q, lambda i: f'/news/{i}{keep}')


class LateSome(Trap):
    """`s=` changes nothing for all that is found at first; for the oldest pages it does."""

    def show(self, p, q, at):
        i = num(q, 'id')
        if p == '/view' and self.ok(i):
            late = i > self.n - len(self.odd)
            links = [f'/view?id={i}&s={k}' for k in (1, 2)]
            return self.page(f'o{i}' if late and q.get('s') == '2' else f'd{i}', links=links)
        if p == '/':
            k = num(q, 'older')
            return self.list([(f'/view?id={i}', f'd{i}') for i in self.ids[k:k + 6]],
                             [f'/?older={k + 6}'] * (k + 6 < self.n))


class ReleaseSome(Trap):
    """Long terms below each short notice; `part=b` is the same notice, but for some another."""

    def draw(self):
        self.terms = self.prose(self.rng, 150)
        for i in self.ids:
            rng = random.Random(self.h(self.seed, i))
            for kind in 'do':
                self.texts[f'{kind}{i}'] = self.prose(rng, 25) + self.terms

    def show(self, p, q, at):
        if (g := m(r'/release/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'o{i}' if i in self.odd and q.get('part') == 'b' else f'd{i}',
                             links=[f'{p}?part={x}' for x in 'ab'],
                             side=[f'/release/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/release/{i}')


class EndingSome(Trap):
    """`.php` is `.html`, but some texts were moved and others put in their place."""

    def show(self, p, q, at):
        if (g := m(r'/text(\d+)\.(php|html)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'o{i}' if i in self.odd and g[1] == 'php' else f'd{i}',
                             side=[f'/text{k}.{["php", "html"][self.h(i, k) % 2]}'
                                   for k in self.near(i)])
        return self.catalogue(p, q, lambda i: [f'/text{i}.html', f'/text{i}.php'])


class TwoSome(Trap):
    """Of two parameters without meaning, both together mean something on some pages."""

    def show(self, p, q, at):
        if (g := m(r'/d/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            both = q.get('full') == '1' and q.get('mode') == 'x' and i in self.odd
            links = [f'{p}?full=1', f'{p}?mode=x'] if not q else [f'{p}?full=1&mode=x']
            return self.page(f'o{i}' if both else f'd{i}', links=links,
                             side=[f'/d/{k}' for k in self.near(i)])
        return self.catalogue(p, q, lambda i: f'/d/{i}')


class FoldSome(Board):
    """`?post=77` leads back to the page, but of some posts it unfolds an answer that is hidden."""
    trap = True

    def show(self, p, q, at):
        if p == '/':
            return self.list([(f'/topic/{t}', f'd{t}') for t in self.topics])
        if (g := m(r'/topic/(\d+)', p)) and g[0] in self.topics:
            t, i = g[0], num(q, 'post')
            start = self.where(i)[1] if self.topic.get(i) == t else 10 * num(q, 'page')
            posts, start = self.part(t, start)
            more = [f'o{i}'] if i in self.odd and f'd{i}' in posts else []
            links = [f'{p}?post={x[1:]}' for x in posts]
            links += [f'{p}?page={start // 10 + 1}'] * (start + 10 < len(self.topics[t]))
            return self.page(*posts, *more, links=links)


class BackLate(Trap):
    """`/c/77` leads back to the page with that comment; of the oldest pages it is a page alone."""

    def show(self, p, q, at):
        if (g := m(r'/(story|c)/(\d+)', p)) and self.ok(g[1] // (1 if g[0] == 'story' else 10)):
            what, i = g[0], g[1] // (1 if g[0] == 'story' else 10)
            if what == 'c' and i > self.n - len(self.odd) and g[1] % 10 == 1:
                return self.page(f'o{i}', links=[f'/story/{i}'])
            return self.page(f'd{i}', links=[f'/c/{i * 10 + k}' for k in range(3)])
        if p == '/':
            k = num(q, 'older')
            return self.list([(f'/story/{i}', f'd{i}') for i in self.ids[k:k + 8]],
                             [f'/?older={k + 8}'] * (k + 8 < self.n))


class ManySome(Trap):
    """Session, print and order of a board's kind at once; `print=1` of some shows footnotes."""
    size = 80, 120

    def show(self, p, q, at):
        sid = f'sid={q["sid"]}' if q.get('sid') and self.h(p, q.get('id')) % 5 else \
            f'sid={self.h(p, q.get("id")) % 3 + 500}'
        i = num(q, 'id')
        if p == '/read.php' and self.ok(i):
            more = [f'o{i}'] if i in self.odd and q.get('print') == '1' else []
            return self.page(f'd{i}', *more, side=[f'/read.php?id={k}&{sid}' for k in self.near(i)],
                             links=[f'/read.php?id={i}&print=1&{sid}', f'/read.php?id={i}&{sid}'])
        if p in ('/', '/list.php'):
            mine = [i for i in self.ids if i % 5 == num(q, 'c')]
            mine = mine[::-1] if q.get('o') == 'd' else mine
            links = [f'/list.php?c={c}&{sid}' for c in range(5)]
            links += [f'/list.php?c={num(q, "c")}&o={o}&{sid}' for o in 'ad']
            return self.list([(f'/read.php?id={i}&{sid}', f'd{i}') for i in mine], links)


class HelpSome(Trap):
    """`topic=` says from where one came and changes nothing, but on the one page of help."""

    def show(self, p, q, at):
        if (g := m(r'/piece/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            return self.page(f'd{i}', links=['/piece/help'] * (i == self.n),
                             side=[f'/piece/{k}?topic={i % 12 + 1}' for k in self.near(i)])
        if p == '/piece/help':
            topic = num(q, 'topic')
            links = [f'/piece/help?topic={k}' for k in range(1, len(self.odd) + 1)]
            return self.page(f'o{topic}' if topic <= len(self.odd) else 'o0', links=links)
        return self.catalogue(p, q, lambda i: f'/piece/{i}')


class BranchSome(Trap):
    """`more=1` changes nothing, but on some pages it lists notes that nothing else names."""

    def show(self, p, q, at):
        if (g := m(r'/entry/(\d+)', p)) and self.ok(g[0]):
            i = g[0]
            links = [f'{p}?more=1', f'{p}?more=0']
            if i in self.odd and q.get('more') == '1':
                links += [f'/entry/{i}/note/{k}' for k in (1, 2)]
            return self.page(f'd{i}', links=links, side=[f'/entry/{k}' for k in self.near(i)])
        if (g := m(r'/entry/(\d+)/note/([12])', p)) and g[0] in self.odd:
            return self.page(f'o{g[0]}.{g[1]}')
        return self.catalogue(p, q, lambda i: f'/entry/{i}')


KINDS = {}
for _kind in list(globals().values()):
    if isinstance(_kind, type) and issubclass(_kind, Site) and _kind not in (Site, Board, Trap):
        KINDS[re.sub(r'(?<=.)([A-Z])', r'-\1', _kind.__name__).lower()] = _kind
