//! Measures the schedule gate per link, at 100,000 seeds, and the synthetic web per fetch.
//!
//! `cargo bench --bench gates`; with `--profile dev` it builds faster, and times are some two times
//! as long.

use std::sync::Arc;

use crawler::clock::{Clock, Timestamp};
use crawler::demo::{Draft, SimWeb, WebSpec};
use crawler::fetch::{Fetch, Purpose, Request};
use crawler::filter::{Candidate, Filter, Scope, Settings};
use crawler::url::CrawlUrl;

const SEEDS: u32 = 100_000;
const LINKS: u32 = 10_000;

fn main() {
    divan::main();
}

fn url(text: &str) -> CrawlUrl {
    CrawlUrl::parse(text).expect("a URL of the benchmark")
}

fn filter(scope: Scope, regexes: u32) -> Filter {
    let seed = |n: u32| url(&format!("http://h{n}.example{}.org/a/b", n % 977));
    let seeds: Vec<CrawlUrl> = (0..SEEDS).map(seed).collect();
    let exclude = (0..regexes).map(|n| format!("regex:[?&]param{n}=[0-9a-f]+")).collect();
    let settings = Settings { scope, exclude, ..Settings::default() };
    Filter::new(&settings, &seeds).expect("patterns that compile")
}

fn links() -> Vec<CrawlUrl> {
    let link = |n: u32| {
        let (host, site) = (n * 37 % (SEEDS + SEEDS / 5), n * 37 % 977);
        url(&format!("http://h{host}.example{site}.org/a/section-{n}/page.html?id={n}&topic=3"))
    };
    (0..LINKS).map(link).collect()
}

/// Time per 10,000 links.
#[divan::bench(args = [
    (Scope::Host, 0), (Scope::Host, 20), (Scope::Domain, 0), (Scope::Prefix, 0), (Scope::Any, 0),
])]
fn schedule(bencher: divan::Bencher<'_, '_>, (scope, regexes): (Scope, u32)) {
    let (filter, links) = (filter(scope, regexes), links());
    let via = url("http://h1.example1.org/a/");
    bencher.bench_local(|| {
        let accepts = |link: &&CrawlUrl| filter.schedule(&Candidate::link(link, &via, 3)).accept;
        links.iter().filter(accepts).count()
    });
}

/// Time per 1,000 fetches in virtual time.
#[divan::bench(sample_count = 20)]
fn simulated_fetches(bencher: divan::Bencher<'_, '_>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let draft = Draft { hosts: 1_000, sick: 0, touchy: 0, ..Draft::default() };
    let web = WebSpec::draw(1, &draft);
    let urls = web.homes();
    let sim = runtime.block_on(async {
        let clock = Clock::starting_at(Timestamp::from_millis(1_800_000_000_000));
        SimWeb::new(Arc::new(web), Arc::new(clock))
    });
    bencher.bench_local(|| {
        runtime.block_on(async {
            for url in &urls {
                let addresses = vec![[198, 18, 0, 1].into()];
                let (purpose, etag, last_modified) = (Purpose::Page, None, None);
                let url = url.clone();
                let fresh = false;
                let request = Request { url, addresses, purpose, etag, last_modified, fresh };
                divan::black_box(sim.fetch(request).await);
            }
        });
    });
}
