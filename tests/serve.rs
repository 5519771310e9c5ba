//! `serve`: its pages, who may ask for them, the runs that they start, and how it ends.

use crate::store::{holder, with_a_run};
use crate::support::http::{Server, read_answer};
use crate::support::scratch::{names, own_folder};
use crate::support::{Scratch, must_have, wait_for};
use std::fs::Permissions;
use std::io::{Read, Write};
use std::os::unix::fs::PermissionsExt;

const SIMULATED: &str = "target=sim:wd40efrx&suite=first&level=read&label=from+a+page";

#[test]
fn every_page_is_there_and_sends_nothing_elsewhere() {
    let (scratch, first) = with_a_run();
    let second = crate::store::add_run(&scratch, &["--label=<script>alert(1)</script>\u{1b}[2J"]);
    let server = Server::start(&scratch, &[]);
    assert!(server.host.starts_with("127.0.0.1:"), "{}", server.address);
    for (path, parts) in [
        ("/", &["Drives of this machine"][..]),
        ("/runs", &["2 runs", "data-most=\"20\"", &first, &second, "&lt;script&gt;alert(1)"]),
        ("/runs?search=%3Cscript", &["1 run found", &second]),
        ("/runs?status=failed", &["No stored run matches", "All runs"]),
        ("/runs?page=9", &["2 runs"]),
        (&format!("/runs/{first}"), &[&first, "How it was measured", "History of this drive"]),
        (&format!("/runs/{first}/metrics.csv"), &["transfer.rnd4k_q1t1.read.iops"]),
        (&format!("/compare?run={first}&run={second}"), &["drivescope comparison"]),
        (
            &format!("/compare?run={first}&run={second}&baseline={second}"),
            &[&format!("/compare?run={second}&amp;run={first}&amp;baseline={first}")],
        ),
        ("/models", &["sim:wd40efrx"]),
        ("/measure?target=%22%3E%3Cb%3E", &["What it may write", "value=\"&quot;&gt;&lt;b&gt;\""]),
        ("/measure", &["<optgroup label=\"Usual\"><option value=\"quick\""]),
        ("/serve.css", &["nav.site"]),
        ("/serve.js", &["EventSource"]),
    ] {
        let answer = server.get(path).status(200).has(parts);
        // A page that still waits for drives refreshes itself without a script.
        let outside =
            answer.body.replace("http://www.w3.org/2000/svg", "").replace("http-equiv", "");
        assert!(!outside.contains("<script>") && !outside.contains("http"), "{path}");
        let policy = answer.header("content-security-policy").unwrap_or_default();
        assert!(policy.starts_with("default-src 'none';") && !policy.contains("unsafe"), "{path}");
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"), "{path}");
        assert_eq!(answer.header("access-control-allow-origin"), None, "{path}");
        assert_eq!(answer.header("cache-control"), Some("no-store"), "{path}");
    }
    let document = server.get(&format!("/runs/{first}/document.json")).status(200);
    let document: serde_json::Value = serde_json::from_str(&document.body).unwrap();
    assert_eq!(document["id"], first.as_str());
    server.end(0);
}

#[test]
fn empty_store_gives_advice_and_is_not_created() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, &[]);
    server.get("/").status(200).has(&["No run is stored yet", "drivescope run ."]);
    server.get("/runs").status(200).has(&["No run is stored yet"]);
    server.get("/history?drive=x").status(422).has(&["No stored run"]);
    assert!(server.end(0).contains("Ctrl-C ends"));
    assert!(!scratch.store().exists());
}

#[test]
fn forged_requests_start_nothing() {
    let (scratch, id) = with_a_run();
    let server = Server::start(&scratch, &[]);
    let origin = format!("Origin: http://{}", server.host);
    for (method, path, headers, status) in [
        ("GET", "/", &["Host: evil.example"][..], 421),
        ("GET", "/", &["Host: localhost", "Host: evil.example"], 421),
        ("GET", "http://evil.example/", &[], 421),
        ("GET", "/", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"], 403),
        ("GET", "/", &["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: navigate"], 200),
        ("POST", "/measure", &[], 403),
        ("POST", "/measure", &["Origin: http://evil.example"], 403),
        ("POST", "/measure", &["Origin: null"], 403),
        ("POST", "/measure", &["Host: evil.example", "Origin: http://evil.example"], 421),
        ("POST", "/measure", &[&origin, "Sec-Fetch-Site: cross-site"], 403),
        ("PUT", "/measure", &[&origin], 405),
        ("DELETE", &format!("/runs/{id}"), &[&origin], 405),
        ("GET", "/measure/start", &[], 404),
        ("GET", "/live/1/stop", &[], 405),
        ("POST", "/live/1/stop", &[&origin], 404),
        ("GET", "/../../etc/passwd", &[], 404),
        ("GET", "/runs/..%2f..%2fetc%2fpasswd", &[], 404),
        ("GET", "/runs/%2e%2e/%2e%2e/etc/passwd", &[], 404),
        ("GET", "/runs/%00", &[], 404),
        ("GET", "/runs/%ff", &[], 400),
        ("GET", "/runs/' OR 1=1 --", &[], 400),
        ("GET", "/runs/last", &[], 200),
        ("GET", "//evil.example/", &[], 404),
        ("GET", "/live/18446744073709551616", &[], 404),
        ("GET", "/compare?run=x&run=y", &[], 404),
        ("GET", "/compare?run=last", &[], 422),
    ] {
        let answer = server.ask(method, path, headers, SIMULATED);
        assert_eq!(answer.status, status, "{method} {path} {headers:?}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    let long = "x".repeat(1 << 20);
    assert_eq!(server.ask("GET", &format!("/runs?search={long}"), &[], "").status, 431);
    server.ask("GET", "/", &[&format!("X: {long}")], "").status(431);
    server.post("/measure", &format!("{SIMULATED}&x={long}")).status(413);
    server.get("/live/1").status(404).has(&["No such run was started here"]);
    server.end(0);
    assert_eq!(scratch.drivescope(&["runs", "--json"]).code(0).json().as_array().unwrap().len(), 1);
}

#[test]
fn browser_run_equals_a_command_line_run() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, &[]);
    let answer = server.post("/measure", SIMULATED).status(303);
    assert_eq!(answer.header("location"), Some("/live/1"));
    let ended = wait_for("the end of the run", || {
        Some(server.get("/live/1")).filter(|answer| answer.status == 303)
    });
    let events = server.get("/live/1/events").status(200);
    assert!(
        events.body.contains("data: {") && events.body.contains("\"ended\":true"),
        "{events:?}"
    );
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    let id = run["id"].as_str().unwrap();
    assert_eq!(ended.header("location"), Some(format!("/runs/{id}").as_str()));
    assert_eq!((&run["label"], &run["status"]), (&"from a page".into(), &"done".into()));
    assert_eq!(run["target"]["path"], "sim:wd40efrx");
    server.get(&format!("/runs/{id}")).status(200).has(&["What it suits"]);
    scratch.drivescope(&["runs", "rm", id, "--yes"]).code(0);
    for path in [format!("/runs/{id}"), format!("/compare?run={id}&run=last")] {
        server.get(&path).status(404).has(&["href=\"/runs\""]);
    }
    server.end(0);
}

#[test]
fn no_form_reaches_a_level_above_own_files() {
    let (scratch, _) = with_a_run();
    let file = scratch.file("image", vec![7; 1 << 20]);
    let server = Server::start(&scratch, &[]);
    let target = scratch.target();
    for (form, part) in [
        (format!("target={file}&suite=first&level=destroy"), "read or own-files only"),
        (format!("target={file}&suite=first&level=restore"), "read or own-files only"),
        (format!("target={file}&suite=first&level=same-bytes"), "read or own-files only"),
        (format!("target={file}&suite=first"), "choose what it may write"),
        (format!("target={target}&suite=first&level=read"), "choose own-files"),
        (format!("target={target}&suite=/etc/passwd&level=own-files"), "there is no suite"),
        ("target=.&suite=first&level=own-files".to_string(), "name the whole path"),
        ("target=sim:/etc/passwd&suite=first&level=read".to_string(), "drivescope run"),
        ("target=/absent&suite=first&level=read".to_string(), "no such path"),
        ("suite=first&level=read".to_string(), "say what to measure"),
    ] {
        server.post("/measure", &form).status(422).has(&["Not started: ", part]);
    }
    server.get("/measure").status(200);
    assert!(!server.get("/measure").body.contains("In progress"));
    server.end(0);
    assert_eq!(names(&target), [""; 0]);
}

#[test]
fn drive_is_measured_once_and_stops_on_request() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, &[]);
    let form = format!("target={}&suite=quick&level=own-files", scratch.target());
    server.post("/measure", &form).status(303);
    wait_for("the folder of its own", || own_folder(scratch.target()));
    server.post("/measure", &form).status(422).has(&["is being measured already", "/live/1"]);
    server.get("/").status(200).has(&["In progress", "/live/1"]);
    server.get("/live/1").status(200).has(&["http-equiv=\"refresh\"", "Stop, and keep"]);
    server.post("/live/1/stop", "").status(303);
    server.wait_for("/live/1", "Stopped; what was measured is kept");
    assert_eq!(names(scratch.target()), [""; 0]);
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(run["status"], "interrupted");
    server.end(0);
}

#[test]
fn ctrl_c_stops_a_browser_run_in_order() {
    let scratch = Scratch::new();
    let server = Server::start(&scratch, &[]);
    let form = format!("target={}&suite=quick&level=own-files", scratch.target());
    server.post("/measure", &form).status(303);
    wait_for("the folder of its own", || own_folder(scratch.target()));
    let said = server.end(130);
    assert!(said.contains("saving partial results"), "{said}");
    assert_eq!(names(scratch.target()), [""; 0]);
    let run = scratch.drivescope(&["show", "last", "--json"]).code(0).json();
    assert_eq!(run["status"], "interrupted");
}

#[test]
fn token_hides_everything_from_strangers() {
    let (scratch, id) = with_a_run();
    let server = Server::start(&scratch, &["--token"]);
    let (_, token) = server.address.split_once("/?token=").expect("the address has the token");
    for path in ["/", "/runs", "/serve.css", &format!("/runs/{id}"), "/?token=0", "/absent"] {
        let answer = server.get(path).status(403);
        assert!(!answer.body.contains(&id), "{path}");
    }
    let answer = server.get(&format!("/runs?token={token}&search=x")).status(303);
    assert_eq!(answer.header("location"), Some("/runs?search=x"));
    let cookie = answer.header("set-cookie").expect("it lets in");
    must_have(cookie, &["HttpOnly", "SameSite=Lax", "Path=/"]);
    assert!(!cookie.contains(token), "{cookie}");
    let cookie = format!("Cookie: {}", cookie.split(';').next().unwrap());
    server.ask("GET", "/runs", &[&cookie], "").status(200).has(&[&id]);
    let origin = format!("Origin: http://{}", server.host);
    server.ask("POST", "/measure", &[&origin], SIMULATED).status(403);
    server.ask("POST", "/measure", &[&origin, &cookie], "").status(422);
    server.end(0);
    let open = Server::start(&scratch, &["--listen=0.0.0.0:0"]);
    assert!(open.address.contains("/?token="), "{}", open.address);
    must_have(&open.end(0), &["reachable from every network", "nothing is encrypted"]);
}

#[test]
fn collectors_get_the_newest_run_of_each_drive() {
    let (scratch, id) = with_a_run();
    let kept = scratch.file("token", "6f1ad7c2b3e84590\n");
    let allow = |mode| std::fs::set_permissions(&kept, Permissions::from_mode(mode)).unwrap();
    let asked = format!("--token-file={kept}");
    allow(0o644);
    scratch
        .drivescope(&["serve", "--listen=:0", &asked])
        .refused_with(2, &["others can read it; chmod 600"]);
    allow(0o600);
    let server = Server::start(&scratch, &[&asked]);
    server.get("/metrics").status(403);
    let bearer = "Authorization: Bearer 6f1ad7c2b3e84590";
    let plain = server.ask("GET", "/metrics", &[bearer], "").status(200);
    assert_eq!(plain.header("content-type"), Some("text/plain; version=0.0.4; charset=utf-8"));
    let info = format!("suite=\"quick\",run=\"{id}\"");
    let plain = plain.has(&["# TYPE drivescope_requests_per_second gauge\n", &info, "\n# EOF\n"]);
    crate::monitoring::check(&plain.body);
    let newer = crate::store::add_run(&scratch, &[]);
    let accept = "Accept: application/openmetrics-text;version=1.0.0,text/plain;q=0.5";
    let open = server.ask("GET", "/metrics", &[bearer, accept], "").status(200);
    let kind = open.header("content-type").expect("it has one");
    assert!(kind.starts_with("application/openmetrics-text; version=1.0.0"), "{kind}");
    assert!(open.body.contains(&newer) && !open.body.contains(&id), "{open:?}");
    server.end(0);
}

#[test]
#[ignore = "takes half a minute: CI and the soak"]
fn slow_and_many_clients_are_held_within_bounds() {
    let (scratch, id) = with_a_run();
    let server = Server::start(&scratch, &[]);
    let mut slow: Vec<_> = (0..80).map(|_| server.connect()).collect();
    for stream in &mut slow {
        // Connections over the limit are closed already.
        let _ = stream.write_all(b"GET / HTTP/1.1\r\nHost: local");
    }
    let answers: Vec<u16> = slow.into_iter().map(|stream| read_answer(stream).status).collect();
    assert!(!answers.contains(&200), "{answers:?}");
    let body = "Content-Length: 100\r\n\r\ntarget=";
    let mut half = server.connect();
    let head =
        format!("POST /measure HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\n", server.host);
    half.write_all(format!("{head}{body}").as_bytes()).unwrap();
    server.get("/runs").status(200).has(&[&id]);
    let mut answer = [0; 12];
    half.read_exact(&mut answer).expect("it receives a timeout answer");
    assert_eq!(&answer, b"HTTP/1.1 503");
    server.end(0);
}

#[test]
fn locked_store_is_reported_until_free() {
    let (scratch, id) = with_a_run();
    let server = Server::start(&scratch, &[]);
    let mode = "db.execute('PRAGMA locking_mode=EXCLUSIVE')";
    let Some(holder) = holder(&scratch, mode) else { return };
    server.get("/runs").status(503).has(&["locked by another process", "try again"]);
    drop(holder);
    server.get("/runs").status(200).has(&[&id]);
    server.end(0);
}

#[test]
fn impossible_serve_is_refused_in_one_line() {
    let (scratch, _) = with_a_run();
    let server = Server::start(&scratch, &[]);
    let message = scratch.drivescope(&["serve", "--listen", &server.host]).refused(2);
    assert!(message.contains("is in use") && message.contains("--listen :0"), "{message}");
    server.end(0);
    for (listen, part) in [
        ("nas:80", "127.0.0.1:7483"),
        ("192.0.2.1:0", "not an address of this machine"),
        ("127.0.0.1:99999", "127.0.0.1:7483"),
    ] {
        scratch.drivescope(&["serve", "--listen", listen]).refused_with(2, &[part]);
    }
    let broken = scratch.file("broken.db", vec![1; 4096]);
    let message = scratch.drivescope(&["serve", "--listen=:0", "--store", &broken]).refused(2);
    assert!(message.contains("damaged or not a database"), "{message}");
}
