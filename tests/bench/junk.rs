//! Hosts that answer nonsense with status 200, login walls, consent pages and empty searches, and
//! the content that looks like them: fixtures with known truth for the judgement of soft errors.
//!
//! What hosts say for "not there" is made of random words, so that only resemblance can find it.
//! What login, consent and search pages say is in the phrases of common software, in eight
//! languages, some of which the judge has never seen.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::pages::{Chance, OwnBlock, Script, Site, article, borrowed, text, written};
use super::probes::{ProbeKind, plan};
use super::soft_error::{Answer, HostErrors, Junk};
use super::{Analysis, BlockKind, Boilerplate, Content, Page, Region, Room, Settings, SiteModel};

/// What a fixture is in truth.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Truth {
    Content,
    Soft404,
    Login,
    Consent,
    EmptyResult,
}

/// A page of a host with its truth.
#[derive(Clone, Debug)]
pub struct Fixture {
    pub target: String,
    pub title: String,
    pub blocks: Vec<OwnBlock>,
    pub password_field: bool,
    pub seen_elsewhere: bool,
    pub truth: Truth,
    pub name: &'static str,
}

impl Fixture {
    fn new(name: &'static str, truth: Truth, target: String, blocks: Vec<OwnBlock>) -> Self {
        let title = blocks.first().map_or_else(String::new, |block| block.text.clone());
        Fixture { target, title, blocks, password_field: false, seen_elsewhere: false, truth, name }
    }
}

/// A host that answers nonsense with status 200.
pub struct SoftHost {
    pub site: Site,
    message: Vec<u64>,
    echoes: bool,
    searches: bool,
    nothing: Vec<u64>,
}

impl SoftHost {
    pub fn new(seed: u64) -> Self {
        let mut chance = Chance(seed ^ 0x50f7);
        let script =
            [Script::Latin, Script::Latin, Script::Cyrillic, Script::Han][seed as usize % 4];
        SoftHost {
            site: Site { script, ..Site::new(seed) },
            message: text(chance.next(), 8 + chance.below(40) as usize),
            echoes: chance.below(2) == 0,
            searches: chance.below(2) == 0,
            nothing: text(chance.next(), 6 + chance.below(20) as usize),
        }
    }

    /// Whether the host has a search.
    pub fn searches(&self) -> bool {
        self.searches
    }

    /// Returns the answer to a target where nothing is.
    pub fn nothing_at(&self, target: &str, visit: u64) -> Vec<OwnBlock> {
        self.said(&self.message, target, visit)
    }

    /// Returns the answer to a search for what is not there.
    pub fn nothing_for(&self, target: &str, visit: u64) -> Vec<OwnBlock> {
        self.said(&self.nothing, target, visit)
    }

    fn said(&self, message: &[u64], target: &str, visit: u64) -> Vec<OwnBlock> {
        let mut blocks =
            vec![OwnBlock::own(written(&message[..4], self.site.script), BlockKind::Heading)];
        let mut rest = written(&message[4..], self.site.script);
        if self.echoes {
            rest.push(' ');
            rest.push_str(target);
        }
        blocks.push(OwnBlock::own(rest, BlockKind::Paragraph));
        self.site.page(&blocks, visit)
    }

    /// Returns an ordinary page; one in three is thin.
    pub fn page(&self, n: u64) -> Vec<OwnBlock> {
        let mut chance = Chance(self.site.seed ^ n << 8 ^ 0x0d);
        let words =
            if n.is_multiple_of(3) { 12 + chance.below(15) } else { 40 + chance.below(600) };
        let own = article(&text(chance.next(), words as usize), self.site.script, n);
        self.site.page(&own, n)
    }

    /// Returns fixtures: answers to dead links, empty searches, and ordinary pages.
    pub fn fixtures(&self) -> Vec<Fixture> {
        let mut chance = Chance(self.site.seed ^ 0xf1c);
        let mut out = Vec::new();
        for n in 0..6 {
            let target = format!("/{}/{}.html", pages_word(&mut chance), pages_word(&mut chance));
            let blocks = self.nothing_at(&target, 900 + n);
            out.push(Fixture::new("dead link", Truth::Soft404, target, blocks));
            if self.searches {
                let target =
                    format!("/find?q={}+{}", pages_word(&mut chance), pages_word(&mut chance));
                let blocks = self.nothing_for(&target, 950 + n);
                out.push(Fixture::new("empty search", Truth::EmptyResult, target, blocks));
            }
        }
        for n in 0..14u64 {
            let target = format!("/{}/{n}.html", pages_word(&mut chance));
            let name = if n.is_multiple_of(3) { "thin page" } else { "page" };
            out.push(Fixture::new(name, Truth::Content, target, self.page(1000 + n)));
        }
        for fixture in &mut out {
            // A title of furniture: titles must not decide here.
            fixture.title = "home".to_owned();
        }
        out
    }
}

fn pages_word(chance: &mut Chance) -> String {
    super::pages::word(100 + chance.below(5000), Script::Latin)
}

/// One language's way of asking and refusing.
struct Tongue {
    login: [&'static str; 6],
    consent: [&'static str; 5],
    nothing: [&'static str; 3],
}

const TONGUES: [Tongue; 8] = [
    Tongue {
        login: [
            "Sign in to your account",
            "Email address",
            "Password",
            "Keep me signed in",
            "Forgot your password?",
            "Sign in",
        ],
        consent: [
            "We value your privacy",
            "We and our partners store and access information on a device, such as cookies, and \
             process personal data for personalised ads and content.",
            "Accept all",
            "Reject all",
            "Manage preferences",
        ],
        nothing: [
            "Search results",
            "Sorry, no results were found for your search.",
            "Check the spelling or try fewer words.",
        ],
    },
    Tongue {
        login: [
            "Members area",
            "Username",
            "Password",
            "Remember me",
            "Lost your password? Not a member yet? Register",
            "Log In",
        ],
        consent: [
            "Before you continue",
            "This site uses cookies and similar technologies to deliver its services, measure \
             traffic and show advertising. With your consent we share data with vendors.",
            "I agree",
            "More options",
            "Privacy policy",
        ],
        nothing: ["Catalogue", "0 items match your query", "Browse all categories instead"],
    },
    Tongue {
        login: [
            "Anmelden",
            "Benutzername oder E-Mail",
            "Kennwort",
            "Angemeldet bleiben",
            "Kennwort vergessen?",
            "Noch kein Konto? Jetzt registrieren",
        ],
        consent: [
            "Datenschutz ist uns wichtig",
            "Wir verwenden Cookies und verarbeiten personenbezogene Daten mit Ihrer Einwilligung \
             für Werbung und Statistik.",
            "Alle akzeptieren",
            "Alle ablehnen",
            "Einstellungen",
        ],
        nothing: [
            "Suche",
            "Ihre Suche ergab leider keine Treffer.",
            "Bitte prüfen Sie die Schreibweise.",
        ],
    },
    Tongue {
        login: [
            "Connexion",
            "Adresse e-mail",
            "Mot de passe",
            "Se souvenir de moi",
            "Mot de passe oublié ?",
            "Se connecter",
        ],
        consent: [
            "Le respect de votre vie privée",
            "Nos partenaires et nous utilisons des cookies et traitons vos données personnelles, \
             avec votre consentement.",
            "Tout accepter",
            "Tout refuser",
            "Paramétrer",
        ],
        nothing: [
            "Recherche",
            "Aucun résultat ne correspond à votre recherche",
            "Essayez avec d'autres mots",
        ],
    },
    Tongue {
        login: [
            "Iniciar sesión",
            "Nombre de usuario",
            "Contraseña",
            "Recuérdame",
            "¿Has olvidado tu contraseña?",
            "Entrar",
        ],
        consent: [
            "Tu privacidad nos importa",
            "Usamos cookies propias y de terceros para tratar datos personales. Puedes dar o \
             retirar tu consentimiento.",
            "Aceptar",
            "Rechazar",
            "Configurar",
        ],
        nothing: [
            "Buscador",
            "No se encontraron productos con esos términos",
            "Pruebe con otra palabra",
        ],
    },
    Tongue {
        login: [
            "Вход на сайт",
            "Имя пользователя",
            "Пароль",
            "Запомнить меня",
            "Забыли пароль?",
            "Войти",
        ],
        consent: [
            "Файлы cookie",
            "Мы используем cookie и обрабатываем персональные данные. Продолжая, вы даёте \
             согласие на обработку.",
            "Принять",
            "Отклонить",
            "Настройки",
        ],
        nothing: ["Поиск", "По вашему запросу ничего не найдено", "Попробуйте изменить запрос"],
    },
    Tongue {
        login: [
            "ログイン",
            "メールアドレス",
            "パスワード",
            "ログイン状態を保持する",
            "パスワードを忘れた方",
            "ログイン",
        ],
        consent: [
            "プライバシーについて",
            "当サイトはCookieを使用します。個人情報の取り扱いに同意のうえご利用ください。",
            "同意する",
            "拒否する",
            "設定",
        ],
        nothing: [
            "検索結果",
            "該当する商品は見つかりませんでした。",
            "キーワードを変えてお試しください。",
        ],
    },
    Tongue {
        login: [
            "Logowanie",
            "Adres e-mail",
            "Hasło",
            "Zapamiętaj mnie",
            "Nie pamiętasz hasła?",
            "Zaloguj się",
        ],
        consent: [
            "Dbamy o Twoją prywatność",
            "Używamy plików cookie i przetwarzamy dane za Twoją zgodą, wraz z zaufanymi \
             partnerami.",
            "Akceptuję",
            "Odrzuć wszystko",
            "Ustawienia",
        ],
        nothing: ["Wyszukiwarka", "Brak wyników dla podanej frazy", "Spróbuj wpisać inne słowa"],
    },
];

fn own(text: &str, kind: BlockKind) -> OwnBlock {
    OwnBlock::own(text.to_owned(), kind)
}

/// A site that nobody has asked for nonsense.
fn stranger(seed: u64) -> Site {
    Site { labelled: !seed.is_multiple_of(3), furniture: 60, ..Site::new(seed) }
}

/// Returns a login page, a consent page and an empty search that nobody has asked the host about.
pub fn unasked(seed: u64) -> Vec<Fixture> {
    let mut chance = Chance(seed ^ 0xa5ed);
    let site = stranger(seed);
    let tongue = &TONGUES[chance.below(8) as usize];
    let form = if chance.below(2) == 0 { Region::Form } else { Region::None };
    let filler = |chance: &mut Chance, words: u64| {
        let words = text(chance.next(), words as usize);
        own(&written(&words, Script::Latin), BlockKind::Paragraph)
    };
    let mut login: Vec<OwnBlock> = vec![own(tongue.login[0], BlockKind::Heading)];
    for line in &tongue.login[1..] {
        login.push(OwnBlock { region: form, ..own(line, BlockKind::Other) });
    }
    let words = chance.below(40);
    login.push(filler(&mut chance, words));
    let target = ["/login?next=/a/b", "/account/x", "/user/secret-page", "/wp-login.php"];
    let target = target[chance.below(4) as usize].to_owned();
    let mut login = Fixture::new("login", Truth::Login, target, dress(&site, &login, 1));
    login.title = tongue.login[0].to_owned();
    // Some hosts ask for the name first, and for the password on the next page.
    login.password_field = chance.below(5) > 0;
    login.seen_elsewhere = chance.below(2) == 0;

    let mut consent = asks_for_consent(tongue);
    let words = chance.below(50);
    consent.push(filler(&mut chance, words));
    let mut consent =
        Fixture::new("consent", Truth::Consent, "/news/17".to_owned(), dress(&site, &consent, 2));
    consent.title = tongue.consent[0].to_owned();
    consent.seen_elsewhere = chance.below(2) == 0;

    let mut empty: Vec<OwnBlock> = vec![own(tongue.nothing[0], BlockKind::Heading)];
    empty.extend(tongue.nothing[1..].iter().map(|line| own(line, BlockKind::Paragraph)));
    let words = chance.below(20);
    empty.push(filler(&mut chance, words));
    let target = format!("/shop?cat=4&q={}", pages_word(&mut chance));
    let mut empty =
        Fixture::new("empty search", Truth::EmptyResult, target, dress(&site, &empty, 3));
    empty.title = tongue.nothing[0].to_owned();
    vec![login, consent, empty]
}

/// Returns the heading, the sentence and the buttons of a demand to consent.
fn asks_for_consent(tongue: &Tongue) -> Vec<OwnBlock> {
    let [heading, sentence, buttons @ ..] = &tongue.consent;
    let mut blocks = vec![own(heading, BlockKind::Heading), own(sentence, BlockKind::Paragraph)];
    blocks.extend(buttons.iter().map(|line| own(line, BlockKind::Other)));
    blocks
}

/// Puts blocks into a page without moving forms out of their region.
fn dress(site: &Site, blocks: &[OwnBlock], visit: u64) -> Vec<OwnBlock> {
    let mut page = site.page(blocks, visit);
    for block in blocks.iter().filter(|block| block.region == Region::Form) {
        page.iter_mut()
            .filter(|dressed| dressed.own && dressed.text == block.text)
            .for_each(|dressed| dressed.region = Region::Form);
    }
    page
}

/// Returns content that looks like junk.
pub fn lookalikes(seed: u64) -> Vec<Fixture> {
    let mut chance = Chance(seed ^ 0x1001);
    let site = stranger(seed);
    let tongue = &TONGUES[chance.below(8) as usize];
    let prose = |chance: &mut Chance, words: u64, with: &[&str]| -> Vec<OwnBlock> {
        let mut blocks = article(&text(chance.next(), words as usize), Script::Latin, words);
        for phrase in with {
            let at = chance.below(blocks.len() as u64) as usize;
            blocks[at].text.push_str(". ");
            blocks[at].text.push_str(phrase);
        }
        blocks
    };
    let mut out = Vec::new();
    let mut add = |name, title: &str, target: &str, blocks: Vec<OwnBlock>, password_field| {
        let blocks = dress(&site, &blocks, 7);
        let fixture = Fixture::new(name, Truth::Content, target.to_owned(), blocks);
        out.push(Fixture { title: title.to_owned(), password_field, ..fixture });
    };
    let words = 250 + chance.below(500);
    let about = prose(&mut chance, words, &tongue.consent);
    add("article about consent", tongue.consent[0], "/law/cookies", about, false);
    let words = 150 + chance.below(400);
    let help = prose(&mut chance, words, &tongue.login);
    add("how to log in", tongue.login[0], "/help/login", help, false);
    let form = |lines: &[&str], region: Region| -> Vec<OwnBlock> {
        lines.iter().map(|line| OwnBlock { region, ..own(line, BlockKind::Other) }).collect()
    };
    let words = 130 + chance.below(400);
    let mut boxed = prose(&mut chance, words, &[]);
    boxed.extend(form(&tongue.login, Region::Form));
    add("article beside a login form", "News of the day", "/news/4", boxed, true);
    let list = |chance: &mut Chance, items: u64, of: (u64, u64)| -> Vec<OwnBlock> {
        let item = |chance: &mut Chance| {
            let words = text(chance.next(), (of.0 + chance.below(of.1)) as usize);
            let text = written(&words, Script::Latin);
            OwnBlock { link_chars: text.len() as u32, ..own(&text, BlockKind::ListItem) }
        };
        (0..items).map(|_| item(chance)).collect()
    };
    let region = if chance.below(2) == 0 { Region::Form } else { Region::None };
    let items = 4 + chance.below(20);
    let mut board = list(&mut chance, items, (3, 6));
    board.extend(form(&tongue.login, region));
    add("board that offers to log in", "Board", "/", board, true);
    let words = 30 + chance.below(60);
    let mut issue = prose(&mut chance, words, &[]);
    issue.insert(0, own("Issue 17: a lamp that hums", BlockKind::Heading));
    issue.extend(form(&tongue.login, region));
    add("short text beside a login form", "Issue 17: a lamp that hums", "/issue17", issue, true);
    let items = 8 + chance.below(20);
    let mut shelf = list(&mut chance, items, (2, 5));
    shelf.insert(0, own("Showing 1-20 of 120 items", BlockKind::Paragraph));
    shelf.push(own("10 results a page, 20 results a page", BlockKind::Paragraph));
    add("shelf of a shop", "Lamps", "/shop?cat=4", shelf, false);
    let items = 6 + chance.below(8);
    let mut parent: Vec<OwnBlock> = vec![own("Lamps", BlockKind::Heading)];
    parent.extend(tongue.nothing.iter().map(|line| own(line, BlockKind::Paragraph)));
    parent.extend(list(&mut chance, items, (1, 3)));
    add("category of categories", "Lamps", "/shop?cat=6", parent, false);
    let items = 8 + chance.below(20);
    let mut cart = vec![own("Your cart: 0 items", BlockKind::Other)];
    cart.extend(list(&mut chance, items, (2, 5)));
    add("shelf beside an empty cart", "Lamps", "/shop?cat=5", cart, false);
    let items = 8 + chance.below(20);
    let mut covered = asks_for_consent(tongue);
    covered.extend(list(&mut chance, items, (3, 5)));
    add("shelf under a banner", "Lamps", "/shop/lamps", covered, false);
    let words = 90 + chance.below(300);
    let mut banner = prose(&mut chance, words, &[]);
    banner.insert(0, own(tongue.consent[1], BlockKind::Paragraph));
    banner.insert(1, own(tongue.consent[2], BlockKind::Other));
    add("article under a banner", "News of the day", "/news/5", banner, false);
    let words = 100 + chance.below(200);
    let found = prose(&mut chance, words, &[]);
    add("search with results", tongue.nothing[0], "/shop?q=lamp", found, false);
    let words = 110 + chance.below(400);
    let faq = prose(&mut chance, words, &tongue.nothing);
    add("questions about empty searches", "Questions", "/faq?id=3", faq, false);
    let words = 120 + chance.below(400);
    let history = prose(&mut chance, words, &["404 page not found"]);
    add("history of error 404", "Page not found: a history of 404", "/blog/404", history, false);
    let words = 12 + chance.below(50);
    let short = prose(&mut chance, words, &[]);
    add("short page", "Contact", "/contact?lang=en", short, false);
    out
}

/// Asks a host for nonsense, and shows it ten ordinary pages; with or without a model of its site.
fn asked(host: &SoftHost, with_model: bool) -> (HostErrors, Arc<Boilerplate>) {
    let (mut errors, mut content) = (HostErrors::default(), Content::new(Settings::default()));
    let mut model = SiteModel::default();
    if with_model {
        for n in 0..40 {
            let analysis = analyse(&mut content, &host.page(n), &model.boilerplate());
            model.observe(&analysis, content.settings(), Room::Ample);
        }
    }
    let known = model.boilerplate();
    for n in 40..52 {
        errors.note_page(&analyse(&mut content, &host.page(n), &known));
    }
    let targets: &[&str] =
        if host.searches() { &["/a/b.html", "/find?q=x"] } else { &["/a/b.html"] };
    for (visit, probe) in (70..).zip(plan(host.site.seed, targets, 6)) {
        let page = match probe.kind {
            ProbeKind::Page => host.nothing_at(&probe.target, visit),
            ProbeKind::Search => host.nothing_for(&probe.target, visit),
        };
        let page = analyse(&mut content, &page, &known);
        errors.note_probe(&probe, 200, Some(&page));
    }
    (errors, known)
}

fn analyse(content: &mut Content, blocks: &[OwnBlock], known: &Boilerplate) -> Analysis {
    let blocks = borrowed(blocks);
    content.analyse(&Page { blocks: &blocks, ..Page::default() }, known)
}

/// Judges the fixtures of `hosts` hosts that were asked, and of `strangers` that were not.
pub fn judged(seed: u64, hosts: u64, strangers: u64) -> Confusion {
    let mut table = Confusion::default();
    for seed in seed..seed + hosts {
        let host = SoftHost::new(seed);
        let (errors, known) = asked(&host, seed % 2 == 0);
        for fixture in host.fixtures() {
            table.judge(&errors, &known, &fixture);
        }
    }
    for seed in seed..seed + strangers {
        // Some pages of it were seen, and it was asked for nothing else.
        let mut known = HostErrors::default();
        let mut content = Content::new(Settings::default());
        let site = stranger(seed);
        for n in 40..46 {
            let own = article(&text(seed ^ n << 9, 300), site.script, n);
            let page = site.page(&own, n);
            known.note_page(&analyse(&mut content, &page, &Boilerplate::default()));
        }
        for fixture in unasked(seed).iter().chain(&lookalikes(seed)) {
            table.judge(&known, &Boilerplate::default(), fixture);
        }
        // Of a host's first page nothing may be lost.
        for fixture in lookalikes(seed) {
            table.judge(&HostErrors::default(), &Boilerplate::default(), &fixture);
        }
    }
    table
}

/// What was judged as what.
#[derive(Default)]
pub struct Confusion {
    counts: BTreeMap<(Truth, Truth), usize>,
    wrong: BTreeMap<(&'static str, Truth), usize>,
    seen: BTreeMap<&'static str, usize>,
}

impl Confusion {
    fn judge(&mut self, errors: &HostErrors, known: &Boilerplate, fixture: &Fixture) {
        let blocks = borrowed(&fixture.blocks);
        let mut content = Content::new(Settings::default());
        let analysis = content.analyse(&Page { blocks: &blocks, ..Page::default() }, known);
        let verdict = errors.judge(&Answer {
            target: &fixture.target,
            title: &fixture.title,
            blocks: &blocks,
            analysis: &analysis,
            password_field: fixture.password_field,
            text_seen_elsewhere: fixture.seen_elsewhere,
        });
        let got = match verdict.map(|verdict| verdict.junk) {
            None => Truth::Content,
            Some(Junk::Soft404) => Truth::Soft404,
            Some(Junk::Login) => Truth::Login,
            Some(Junk::Consent) => Truth::Consent,
            Some(Junk::EmptyResult) => Truth::EmptyResult,
        };
        *self.counts.entry((fixture.truth, got)).or_default() += 1;
        *self.seen.entry(fixture.name).or_default() += 1;
        if got != fixture.truth {
            *self.wrong.entry((fixture.name, got)).or_default() += 1;
        }
    }

    /// Returns precision and recall of a kind.
    pub fn precision_and_recall(&self, kind: Truth) -> (f64, f64) {
        let sum = |keep: &dyn Fn(&(Truth, Truth)) -> bool| -> f64 {
            let counts = self.counts.iter().filter(|(key, _)| keep(key));
            counts.map(|(_, count)| *count as f64).sum()
        };
        let hit = sum(&|key| *key == (kind, kind));
        (hit / sum(&|key| key.1 == kind), hit / sum(&|key| key.0 == kind))
    }

    /// Prints the table and every kind of mistake.
    pub fn print(&self) {
        for kind in [Truth::Soft404, Truth::Login, Truth::Consent, Truth::EmptyResult] {
            let (precision, recall) = self.precision_and_recall(kind);
            println!("{:<14}{precision:>8.3}{recall:>8.3}", format!("{kind:?}"));
        }
        for ((name, got), count) in &self.wrong {
            println!("  {count} of {} `{name}` taken for {got:?}", self.seen[name]);
        }
    }
}
