//! What is exported for web servers redirects as the rules rewrite, and nothing else.

use std::io::Write;
use std::process::{Command, Stdio};

use crawler::clock::Timestamp;
use crawler::dust::{Rule, RuleFile, RuleKind, RuleState, Scope, Segment, Source};
use crawler::url::{Host, Site};

use super::Place;

/// Does with `$dust` what nginx does: the first pattern that matches says where to go.
const SERVER: &str = r#"
    open my $file, '<', $ARGV[0] or die;
    chomp(my @rules = grep { /^if \(\$dust ~/ } <$file>);
    while (my $line = <STDIN>) {
        chomp $line;
        my ($host, $target) = split /\t/, $line;
        my $port = $host =~ /(:[0-9]+)$/ ? $1 : '';
        my $to = '';
        for my $rule (@rules) {
            my ($pattern, $url) = $rule =~ /^if \(\$dust ~ "(.*)"\) \{ return 301 "(.*)"; \}$/ or die;
            next unless "GET $host $target" =~ /$pattern/;
            my @group = ('', $1, $2, $3, $4);
            $url =~ s/\$(\d)/$group[$1] \/\/ ''/ge;
            $url =~ s/\$scheme/http/; $url =~ s/\$http_host/$host/; $url =~ s/\$dust_port/$port/;
            $to = $url;
            last;
        }
        print "$to\n";
    }
"#;

/// Returns where a server would send these hosts and targets, an empty text for nowhere.
fn redirected(place: &Place, conf: &str, requests: &[(&str, &str)]) -> Vec<String> {
    let lines: String = requests.iter().map(|(host, to)| format!("{host}\t{to}\n")).collect();
    printed(place, SERVER, conf, &lines)
}

/// Does with a URL what pywb does with an entry of a rules file whose `re_type` is `sub`.
const REPLAYER: &str = r#"
    open my $file, '<', $ARGV[0] or die;
    my ($match) = map { /^ +match: '(.*)'$/ ? $1 : () } <$file>;
    $match =~ s/''/'/g;
    while (my $url = <STDIN>) {
        chomp $url;
        $url =~ s|$match|($1 // '') . ($2 // '') . ($3 // '')|ge;
        print "$url\n";
    }
"#;

/// Returns what a program in Perl prints for lines, beside a file with this text.
fn printed(place: &Place, program: &str, text: &str, lines: &str) -> Vec<String> {
    place.file("exported", text);
    let mut perl = Command::new("perl")
        .args(["-e", program, "exported"])
        .current_dir(place.0.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    perl.stdin.take().unwrap().write_all(lines.as_bytes()).unwrap();
    let output = perl.wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap().lines().map(str::to_owned).collect()
}

/// Checks that requests are redirected to what `apply` makes of their URLs, and only where it makes
/// something else of them.
fn check(site: &str, kind: RuleKind, requests: &[(&str, &str)]) {
    check_in(Scope::default(), site, kind, requests);
}

fn check_in(scope: Scope, site: &str, kind: RuleKind, requests: &[(&str, &str)]) {
    let place = Place::new();
    let conf = exported(&place, scope, site, kind, "nginx");
    let urls: String = requests.iter().map(|(host, to)| format!("http://{host}{to}\n")).collect();
    let (applied, _) = place.check(&["apply", "--rules", "rules.json"], &urls, 0);
    let want: Vec<&str> = urls
        .lines()
        .zip(applied.lines())
        .map(|(url, key)| if url == key { "" } else { key })
        .collect();
    assert_eq!(redirected(&place, &conf, requests), want, "{conf}");
}

/// Returns the one rule of a file in another form.
fn exported(place: &Place, scope: Scope, site: &str, kind: RuleKind, form: &str) -> String {
    let at = Timestamp::ZERO;
    let mut rule = Rule::new(Site::new(site), kind, scope, Source::Mined, at);
    rule.state = RuleState::Enforced;
    let file = RuleFile { format: 1, version: 1, rules: vec![rule] };
    place.file("rules.json", &serde_json::to_string(&file).unwrap());
    place.check(&["export", "--format", form, "--rules", "rules.json"], "", 0).0
}

/// The view was found between semicolons also where they separate nothing.
#[test]
fn a_view_is_looked_for_between_what_separates_parameters() {
    let kind = RuleKind::Substring {
        from: "/old/".to_owned(),
        to: "/new/".to_owned(),
        at_start: true,
        at_end: false,
    };
    let scope = Scope { view: Some("a=1".to_owned()), ..Scope::default() };
    let requests = [
        "/old/x?a=1",
        "/old/x?a=1&c=3",
        "/old/x?b&a=1",
        "/old/x?b=2;a=1",
        "/old/x?a=1;b=2",
        "/old/x?b=2;a=1;c=",
        "/old/x?b;a=1",
        "/old/x?a=1;b",
        "/old/x?b=2;a=1&c=3",
        "/old/x?a=1;",
        "/old/x?a=12",
        "/old/x?ba=1",
        "/old/x",
    ];
    check_in(scope, "shop.com", kind, &requests.map(|target| ("shop.com", target)));
}

/// The parameters that are kept were looked for anywhere in a key, so `id=1` led to `id=10`, and a
/// URL without any led to all pages below it.
#[test]
fn a_replayer_looks_for_what_a_url_is_without_the_parameters() {
    let place = Place::new();
    let names = vec!["lang".to_owned(), "sid".to_owned()];
    let scope = Scope::default();
    let text = exported(&place, scope, "shop.com", RuleKind::drop(names, None), "pywb");
    let urls = [
        "http://shop.com/x?id=1&lang=en&sid=2",
        "http://shop.com/x?id=10&lang=en&sid=2",
        "http://WWW.shop.com:8080/x?sid=2&id=1",
        "http://shop.com/x?sid=1&sid=2&lang&id=1&sid=3&lang=4",
        "http://shop.com/x?sid=1&lang=2&sid=3",
        "http://shop.com/x?sid",
        "http://shop.com/xyz?sid=",
        "http://shop.com/x/deep?z=1&lang=",
        "http://shop.com/x?sidx=1&xsid=1&slang=sid",
        "http://shop.com/a&sid=1/b",
        "http://shop.com/a&sid=1/b?c=1&sid=2",
        "http://shop.com/",
        "http://notshop.com/x?id=1&sid=2",
        "http://shop.com.au/x?id=1&sid=2",
    ];
    let lines: String = urls.iter().map(|url| format!("{url}\n")).collect();
    let (applied, _) = place.check(&["apply", "--rules", "rules.json"], &lines, 0);
    let shown = printed(&place, REPLAYER, &text, &lines).join("\n");
    assert_eq!(shown.to_lowercase() + "\n", applied, "{text}");
}

/// `http://victim.example` was glued to what stood behind the session, which anybody can write.
#[test]
fn no_session_leads_to_another_host() {
    let session = |before: &str, after: &str| RuleKind::PathSession {
        before: before.to_owned(),
        after: after.to_owned(),
    };
    let host = "victim.example";
    let requests = [
        "/(S(AAAAAAAA))@evil.example/x",
        "/(S(AAAAAAAA)).evil.example/x",
        "/(S(AAAAAAAA)):80/x",
        "/(S(AAAAAAAA))",
        "/(S(AAAAAAAA))?a=1",
        "/(S(AAAAAAAA))/x",
        "/(S(AAAAAAAA))/x?a=1",
        "/shop/(S(AAAAAAAA))/x",
        "/shop/(S(AAAAAAAA))?a=1",
        "/shop/(S(AAAA))/x",
    ];
    check(host, session("/(S(", "))"), &requests.map(|target| (host, target)));
    let requests = ["/x;s=ABCDEFGH12)x", "/x;s=ABCDEFGH12)/x", "/x/;s=ABCDEFGH12)x", "/x;s=ABC)"];
    check(host, session(";s=", ")"), &requests.map(|target| (host, target)));
    let requests = ["/x;s=ABCDEFGH12?a=1", "/;s=ABCDEFGH12", "/x;s=ABCDEFGH12;y"];
    check(host, session(";s=", ""), &requests.map(|target| (host, target)));
}

/// Host and path were one text, so a host whose name goes on was taken for the path.
#[test]
fn a_host_ends_where_its_path_begins() {
    let drop =
        |value: Option<&str>| RuleKind::drop(vec!["sid".to_owned()], value.map(str::to_owned));
    let requests = [
        ("shop.com.au", "/p?sid=1"),
        ("shop.com", "/p?sid=1"),
        ("shop.com", "/p?sid"),
        ("shop.com", "/p?sid="),
        ("www.shop.com:8080", "/p?a=1&sid=1"),
        ("notshop.com", "/p?sid=1"),
    ];
    check("shop.com", drop(None), &requests);
    check("shop.com", drop(Some("")), &requests);
    let set = RuleKind::SetParameter { name: "sid".to_owned(), value: "0".to_owned() };
    check("shop.com", set, &[requests[0], requests[1], requests[2], requests[3], requests[4]]);
    let alias = RuleKind::HostAlias {
        from: Host::new("www.shop.com"),
        to: Host::new("shop.com"),
        from_path: "/".to_owned(),
        to_path: "/".to_owned(),
    };
    let requests = [("www.shop.com:8080", "/p?a=1"), ("www.shop.com", "/p"), ("shop.com", "/p")];
    check("shop.com", alias, &requests);
}

#[test]
fn a_segment_is_ignored_in_the_paths_that_have_its_shape() {
    for second in [Segment::Number, Segment::Text("b".to_owned()), Segment::Any] {
        let shape = vec![second, Segment::Any];
        let kind = RuleKind::IgnoreSegment { shape, index: 0, value: "1".to_owned() };
        let requests = ["/-/22", "/1/22", "/2/22?a=1", "/b/22", "/b/", "/b/22/"];
        check("shop.com", kind, &requests.map(|target| ("shop.com", target)));
    }
}
