#!/usr/bin/env python3
"""Crawls a page, shows it in a browser live and from the archive, and compares what is to be seen.

usage: replay.py CRAWLER VENV REPLAYWEBPAGE WORK
  CRAWLER        the program
  VENV           a Python environment with pywb, wacz and websocket-client
  REPLAYWEBPAGE  the unpacked npm package replaywebpage (ui.js, sw.js)
  WORK           a directory that may be filled

The site is served on 127.0.0.1 and stopped before its archive is replayed, so that nothing can come
from it any more. Live, in pywb and in replayweb.page the page must have the same text, the same
links and the same images with pixels. Exit code 1 if something differs.
"""
import base64, gzip, json, os, re, socket, struct, subprocess, sys, threading, time, urllib.parse, urllib.request, zlib
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from functools import partial
import websocket

CRAWLER, VENV, RWP, WORK = (os.path.realpath(path) for path in sys.argv[1:5])
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync",
         "--hide-scrollbars", "--window-size=1000,800", "--remote-debugging-port=0",
         "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost, EXCLUDE 127.0.0.1"]
SEEN = """JSON.stringify({
  at: location.href,
  title: document.title,
  text: document.body ? document.body.innerText : "",
  color: document.body ? getComputedStyle(document.body).backgroundColor : "",
  links: [...document.querySelectorAll("a[href]")].map(a => a.href),
  images: [...document.images].map(i => [i.alt, i.complete && i.naturalWidth > 0, i.naturalWidth])
})"""


def png(width, colour):
    """A picture of one colour."""
    def part(kind, body):
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
    head = struct.pack(">IIBBBBB", width, 8, 8, 2, 0, 0, 0)
    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(8))
    return b"\x89PNG\r\n\x1a\n" + part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")


def site(port):
    home = f"http://127.0.0.1:{port}"
    html = f"""<!doctype html><html lang=en><head><meta charset=utf-8><title>Replay – a page of the archive</title>
<link rel=stylesheet href=/style.css></head><body><h1>Grüße, 世界</h1>
<p>Text with <b>markup</b>, entities &lt;&amp;&gt; and a <a href="/second?a=1&amp;b=2">second page</a>.</p>
<ul><li><a href="/third#part">third</a><li><a href="{home}/second?a=1&amp;b=2">absolute</a>
<li><a href="relative/../fourth">relative</a></ul>
<p><img src=/red.png alt=red><img srcset="/green.png 1x" src=/red.png alt=green>
<img src="/coded.png" alt=coded></p></body></html>"""
    page = lambda text: f"<!doctype html><meta charset=utf-8><title>{text}</title><p>{text} page".encode()
    return {
        "/": ("text/html; charset=utf-8", html.encode(), "gzip chunked"),
        "/style.css": ("text/css", b"body { background: rgb(230, 240, 250) url(/tile.png) }", "chunked"),
        "/red.png": ("image/png", png(11, (200, 0, 0)), ""),
        "/green.png": ("image/png", png(13, (0, 160, 0)), "chunked"),
        "/coded.png": ("image/png", png(17, (0, 0, 160)), "gzip"),
        "/tile.png": ("image/png", png(19, (230, 240, 250)), ""),
        "/second?a=1&b=2": ("text/html", page("second"), "gzip"),
        "/third": ("text/html", page("third"), "chunked"),
        "/fourth": ("text/html", page("fourth"), ""),
    }


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        kind, body, how = self.server.pages.get(self.path, ("text/plain", b"", "missing"))
        self.send_response(404 if how == "missing" else 200)
        self.send_header("Content-Type", kind)
        if "gzip" in how:
            body = gzip.compress(body)
            self.send_header("Content-Encoding", "gzip")
        if "chunked" in how:
            self.send_header("Transfer-Encoding", "chunked")
            pieces = [body[at:at + 100] for at in range(0, len(body), 100)]
            body = b"".join(b"%x\r\n%s\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\n\r\n"
        else:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def serve(handler, pages=None):
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    server.pages = pages
    if pages is None and handler is Handler:
        server.pages = site(server.server_port)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


class Browser:
    """A headless Chromium with a profile of its own."""

    def __init__(self, name):
        self.process = subprocess.Popen(
            [os.environ.get("CHROMIUM", "chromium"), *FLAGS, f"--user-data-dir={WORK}/{name}", "about:blank"],
            stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True)
        address = next(m[1] for line in self.process.stderr if (m := re.search(r"ws://([^/]+)/", line)))
        threading.Thread(target=lambda: [None for _ in self.process.stderr], daemon=True).start()
        tabs = json.load(urllib.request.urlopen(f"http://{address}/json/list", timeout=20))
        tab = next(tab for tab in tabs if tab["type"] == "page")
        self.socket = websocket.create_connection(tab["webSocketDebuggerUrl"], timeout=60, suppress_origin=True)
        self.number, self.contexts = 0, {}
        for domain in ("Runtime", "Page"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": parameters}))
        while True:
            message = json.loads(self.socket.recv())
            if message.get("method") == "Runtime.executionContextCreated":
                context = message["params"]["context"]
                self.contexts[context["id"]] = context
            elif message.get("method") == "Runtime.executionContextDestroyed":
                self.contexts.pop(message["params"]["executionContextId"], None)
            elif message.get("id") == self.number:
                return message.get("result", {})

    def see(self, url, is_it):
        """Opens a page and returns what stands in the first frame that `is_it` says is it, once its
        images are there."""
        self.call("Page.navigate", url=url)
        last = None
        for _ in range(120):
            time.sleep(0.25)
            for number in list(self.contexts):
                answer = self.call("Runtime.evaluate", expression=SEEN, contextId=number, returnByValue=True)
                value = answer.get("result", {}).get("value")
                if not value:
                    continue
                seen = json.loads(value)
                if is_it(seen):
                    last = seen
            if last and all(done for _, done, _ in last["images"]) and last["images"]:
                break
        return last

    def shot(self, path):
        picture = self.call("Page.captureScreenshot", format="png")
        with open(path, "wb") as file:
            file.write(base64.b64decode(picture["data"]))

    def close(self):
        self.socket.close()
        self.process.terminate()
        self.process.wait(20)


def original(link):
    """The URL that was archived, where a replayer wrote its own in front of it."""
    found = re.search(r"/(?:\d{14}|)(?:mp_|id_|)/?(https?://.*)$", link)
    return found[1] if found else link


def view(name, url, is_it):
    browser = Browser(name)
    try:
        seen = browser.see(url, is_it)
        browser.shot(f"{WORK}/{name}.png")
    finally:
        browser.close()
    if seen is None:
        sys.exit(f"{name}: the page did not show; see {WORK}/{name}.png")
    seen.pop("at")
    seen["links"] = [original(link) for link in seen["links"]]
    return seen


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def pywb(warcs, home):
    os.makedirs(f"{WORK}/wb")
    run = partial(subprocess.run, check=True, cwd=f"{WORK}/wb", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run([f"{VENV}/bin/wb-manager", "init", "c"])
    run([f"{VENV}/bin/wb-manager", "add", "c", *warcs])
    port = free_port()
    with open(f"{WORK}/pywb.log", "w") as log:
        process = subprocess.Popen([f"{VENV}/bin/wayback", "--bind", "127.0.0.1", "--port", str(port)],
                                   cwd=f"{WORK}/wb", stdout=log, stderr=log)
    try:
        for _ in range(240):
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.25)
        return view("pywb", f"http://localhost:{port}/c/mp_/{home}", lambda seen: "mp_/" in seen["at"] and seen["text"].strip())
    finally:
        process.terminate()
        process.wait(20)


def replayweb(wacz, home):
    folder = f"{WORK}/rwp"
    os.makedirs(f"{folder}/replay")
    for source, to in ((f"{RWP}/ui.js", "ui.js"), (f"{RWP}/sw.js", "replay/sw.js"), (wacz, "a.wacz")):
        with open(source, "rb") as read, open(f"{folder}/{to}", "wb") as write:
            write.write(read.read())
    with open(f"{folder}/index.html", "w") as file:
        file.write(f'<!doctype html><body><script src="/ui.js"></script><replay-web-page embed="replayonly" '
                   f'replayBase="/replay/" source="/a.wacz" url="{home}" style="display:block;height:700px">')

    class Files(SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass
    server = serve(partial(Files, directory=folder))
    try:
        is_it = lambda seen: "/replay/w/" in seen["at"] and home in urllib.parse.unquote(seen["at"]) and seen["text"].strip()
        return view("replayweb", f"http://localhost:{server.server_port}/", is_it)
    finally:
        server.shutdown()


def fuzzy():
    """pywb finds under a fuzzy rule the URL without the parameters and no other, by its own matcher."""
    import pywb as pywb_package
    from pywb.warcserver.index.cdxops import process_cdx
    from pywb.warcserver.index.fuzzymatcher import FuzzyMatcher
    from pywb.warcserver.index.indexsource import FileIndexSource
    from pywb.warcserver.index.query import CDXQuery

    rules = []
    for scope, names in (({}, ["lang"]), ({}, ["sid"]), ({"host": "www2.shop.test"}, ["u"])):
        rule = {"id": "0" * 16, "site": "shop.test", "rule": {"kind": "drop_parameter", "names": names},
                "scope": scope, "source": "mined", "state": "enforced", "found": 0, "changed": 0}
        for _ in range(2):
            with open(f"{WORK}/one.json", "w") as file:
                json.dump({"format": 1, "rules": [rule]}, file)
            said = subprocess.run([CRAWLER, "dust", "rules", "--rules", f"{WORK}/one.json"], text=True, capture_output=True)
            # The id of a rule is made from what it says; who has another one is told it.
            if told := re.search("it would be ([0-9a-f]{16})", said.stderr):
                rule["id"] = told[1]
        rules.append(rule)
    with open(f"{WORK}/rules.json", "w") as file:
        json.dump({"format": 1, "rules": rules}, file)
    subprocess.run([CRAWLER, "dust", "export", "--format", "pywb", "--quiet", "--rules", f"{WORK}/rules.json",
                    "--out", f"{WORK}/fuzzy.txt"], check=True)
    with open(os.path.join(os.path.dirname(pywb_package.__file__), "rules.yaml")) as file:
        stock = file.read()
    with open(f"{WORK}/fuzzy.txt") as file:
        own = stock.replace("\nrules:\n", "\nrules:\n" + file.read(), 1)
    with open(f"{WORK}/fuzzy.yaml", "w") as file:
        file.write(own)
    paths = ["/", "/x", "/x?id=1", "/x?id=10", "/x?id=1&lang=fr&sid=9", "/x?id=10&lang=en", "/xyz", "/x/deep?z=1"]
    lines = []
    for path in paths:
        url = f"http://shop.test{path}"
        lines.append(f'{CDXQuery({"url": url}).key.decode()} 20260101000000 {{"url": "{url}", "status": "200", "mime": "text/html"}}\n')
    with open(f"{WORK}/fuzzy.cdxj", "w") as file:
        file.writelines(sorted(lines))

    def index(params):
        query = CDXQuery(params)
        return process_cdx(FileIndexSource(f"{WORK}/fuzzy.cdxj").load_index(query.params), query), None

    matcher = FuzzyMatcher(f"{WORK}/fuzzy.yaml")
    wrong = False
    for host, path, want in (
        ("shop.test", "/x?id=1&lang=en&sid=2", ["/x?id=1"]),
        ("www.shop.test", "/x?sid=3&id=10", ["/x?id=10"]),
        ("shop.test", "/x?lang=en&sid=2", ["/x"]),
        ("shop.test", "/?sid=1", ["/"]),
        ("shop.test", "/xyz?lang=en", ["/xyz"]),
        ("shop.test", "/x/deep?sid=1", []),
        ("shop.test", "/x?id=100&sid=1", []),
        ("shop.test", "/nowhere", []),
        ("shop.test", "/x?id=1&other=1", []),
        ("shop.test", "/x?id=1&u=5", ["/x?id=1"]),
        ("b.shop.test", "/x?id=1&sid=2", []),
    ):
        params = {"url": f"http://{host}{path}"}
        params["key"] = CDXQuery(params).key
        found = [cdx["url"].split("shop.test", 1)[1] for cdx in matcher(index, params)[0]]
        if found != want:
            wrong = True
            print(f"fuzzy rules: {host}{path} leads to {found}, not to {want}")
    if not wrong:
        print("fuzzy rules: each URL leads to what it is without the parameters")
    return wrong


def main():
    live_server = serve(Handler)
    home = f"http://127.0.0.1:{live_server.server_port}/"
    crawl = f"{WORK}/crawl"
    subprocess.run([CRAWLER, "run", "--quiet", "--dir", crawl, "--contact", "mailto:ci@crawler.test",
                    "--set", 'dns.allow=["127.0.0.0/8"]', "--set", "politeness.min_delay=10ms", home], check=True)
    live = view("live", home, lambda seen: seen["text"].strip())
    live_server.shutdown()
    live_server.server_close()
    archive = f"{crawl}/archive"
    warcs = sorted(f"{archive}/{name}" for name in os.listdir(archive) if name.endswith(".warc.gz"))
    wacz = f"{WORK}/crawl.wacz"
    subprocess.run([CRAWLER, "export", "--dir", crawl, "--format", "wacz", "--out", wacz], check=True)
    subprocess.run([f"{VENV}/bin/wacz", "validate", "-f", wacz], check=True, stdout=subprocess.DEVNULL)
    print(f"live: {len(live['text'])} characters, {len(live['links'])} links, {len(live['images'])} images")
    if len(live["links"]) < 4 or not all(done for _, done, _ in live["images"]):
        sys.exit("the live page is not whole itself")
    wrong = fuzzy()
    for name, seen in (("pywb", pywb(warcs, home)), ("replayweb.page", replayweb(wacz, home))):
        differs = [key for key in live if seen[key] != live[key]]
        wrong |= bool(differs)
        print(f"{name}: {'the same title, text, style, links and images' if not differs else 'DIFFERS'}")
        for key in differs:
            print(f"  {key}: live {live[key]!r}\n  {' ' * len(key)}  replayed {seen[key]!r}")
    sys.exit(wrong)


main()
