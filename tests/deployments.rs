//! Files for Slurm, Ansible, systemd and Kubernetes, and their pages. `tests/slurm/run`, `tests/ansible/run` and
//! `tests/systemd/run` try them with the programs themselves.

use crate::support::{Call, Scratch, skip_loudly};
use regex_lite::Regex;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

const FOLDERS: [&str; 4] = ["slurm", "ansible", "systemd", "kubernetes"];
const PAGES: [&str; 4] = ["slurm", "ansible", "systemd", "kubernetes"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .expect("it is the test's own")
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All files of the folders, by their path in the repository.
fn files() -> BTreeMap<String, String> {
    let mut waiting: Vec<String> = FOLDERS.iter().map(|it| format!("packaging/{it}")).collect();
    let mut found = BTreeMap::new();
    while let Some(folder) = waiting.pop() {
        for entry in fs::read_dir(root().join(&folder)).expect("it is the test's own") {
            let entry = entry.expect("it is the test's own");
            let path =
                format!("{folder}/{}", entry.file_name().to_str().expect("it is the test's own"));
            if entry.file_type().expect("it is the test's own").is_dir() {
                waiting.push(path);
            } else {
                found.insert(path.clone(), text(&path));
            }
        }
    }
    found
}

fn pages() -> BTreeMap<String, String> {
    PAGES
        .iter()
        .map(|name| format!("docs/{name}.md"))
        .map(|path| (path.clone(), text(&path)))
        .collect()
}

/// Lines with commands: the fenced blocks of pages, and files without comments and descriptions.
fn command_lines() -> Vec<(String, String)> {
    let fenced = pages().into_iter().map(|(path, page)| {
        let blocks: Vec<&str> = page.split("```").skip(1).step_by(2).collect();
        (path, blocks.join("\n"))
    });
    let all = files().into_iter().chain(fenced);
    let lines = all.flat_map(|(path, text)| {
        let text = text.replace("\\\n", " ");
        let no_command = |line: &&str| {
            !["#", "Description=", "kubectl "].iter().any(|it| line.trim_start().starts_with(it))
        };
        text.lines().filter(no_command).map(|it| (path.clone(), it.to_string())).collect::<Vec<_>>()
    });
    lines.collect()
}

/// Words after each `drivescope` of a line, up to the end of its command.
fn commands(line: &str) -> Vec<Vec<String>> {
    let bare: String =
        line.chars().map(|c| if "'\",[]{}`".contains(c) { ' ' } else { c }).collect();
    let bare = bare.replace("args:", " drivescope ").replace("ExecStart=", "");
    let mut found: Vec<Vec<String>> = Vec::new();
    let mut is_open = false;
    for word in bare.split_whitespace() {
        match word {
            "drivescope" | "/usr/bin/drivescope" => {
                is_open = true;
                found.push(Vec::new());
            }
            "|" | "||" | "&&" | "+" | ">" | "#" => is_open = false,
            word if is_open => {
                found.last_mut().expect("it is the test's own").push(word.to_string())
            }
            _ => {}
        }
    }
    let is_name = |word: &String| word.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    found.retain(|words| words.first().is_some_and(|word| is_name(word) && !word.starts_with('-')));
    found
}

#[test]
fn commands_of_deployments_exist_with_their_options() {
    let scratch = Scratch::new();
    let option = Regex::new(r"--[a-z][a-z-]*").unwrap();
    let mut help: BTreeMap<Vec<String>, String> = BTreeMap::new();
    let mut checked = BTreeSet::new();
    for (path, line) in command_lines() {
        for words in commands(&line) {
            let depth = if ["fleet", "store"].contains(&words[0].as_str()) { 2 } else { 1 };
            let command: Vec<String> = words[..depth.min(words.len())].to_vec();
            let shown = help.entry(command.clone()).or_insert_with(|| {
                let mut arguments: Vec<&str> = command.iter().map(String::as_str).collect();
                arguments.push("--help");
                let ended = scratch.drivescope(&arguments);
                assert_eq!(ended.exit_code(), Some(0), "{path}: {line}");
                ended.stdout
            });
            let known: BTreeSet<&str> = option.find_iter(shown).map(|it| it.as_str()).collect();
            for word in words.iter().filter(|word| word.starts_with("--")) {
                let name = word.split('=').next().unwrap();
                assert!(known.contains(name), "{path}: {command:?} has no {name}: {line}");
            }
            checked.insert((path.clone(), command));
        }
    }
    for (path, command) in [
        ("packaging/slurm/nodes.sbatch", &["run"][..]),
        ("packaging/slurm/fleet.sbatch", &["fleet", "agent"]),
        ("packaging/ansible/measure.yml", &["run"]),
        ("packaging/systemd/drivescope-agent.service", &["fleet", "agent"]),
        ("packaging/kubernetes/daemonset.yaml", &["fleet", "agent"]),
        ("docs/kubernetes.md", &["fleet", "agent"]),
    ] {
        let command = command.iter().map(ToString::to_string).collect();
        assert!(checked.contains(&(path.to_string(), command)), "{path}: its command is not found");
    }
}

#[test]
fn units_that_are_named_exist_and_are_disabled_on_removal() {
    let unit = Regex::new(r"drivescope-[a-z]+\.(service|timer)").unwrap();
    let units: BTreeMap<String, String> = files()
        .into_iter()
        .filter_map(|(path, text)| {
            Some((path.strip_prefix("packaging/systemd/")?.to_string(), text))
        })
        .filter(|(name, _)| unit.is_match(name))
        .collect();
    for (path, text) in files().into_iter().chain(pages()) {
        for name in unit.find_iter(&text) {
            assert!(units.contains_key(name.as_str()), "{path}: no unit {}", name.as_str());
        }
    }
    let (build, spec) = (text("packaging/build"), text("packaging/rpm/drivescope.spec"));
    let prerm = text("packaging/deb/prerm");
    assert!(units.len() >= 3, "{units:?}");
    for (name, unit) in &units {
        assert!(build.contains(name.as_str()), "{name} is not in the packages");
        if unit.contains("[Install]") {
            let ends = |script: &str| {
                script.lines().any(|it| it.contains("disable --now") && it.contains(name.as_str()))
            };
            assert!(ends(&prerm) && ends(&spec), "{name} stays enabled without the package");
        }
    }
}

#[test]
fn ansible_writes_the_settings_that_the_unit_reads() {
    fn keys(path: &str) -> BTreeSet<String> {
        let text = text(path);
        let settings = text.lines().filter(|line| !line.starts_with('#'));
        settings.filter_map(|line| Some(line.split_once('=')?.0.to_string())).collect()
    }
    let template = "packaging/ansible/roles/drivescope/templates/agent.conf.j2";
    assert_eq!(keys(template), keys("packaging/systemd/agent.conf"));
}

#[test]
fn variables_of_ansible_are_those_of_its_page() {
    let variable = Regex::new(r"\bdrivescope_[a-z_]+").unwrap();
    let names = |text: &str| -> BTreeSet<String> {
        variable.find_iter(text).map(|it| it.as_str().to_string()).collect()
    };
    let files = files();
    let plays = files.iter().filter(|(path, _)| path.starts_with("packaging/ansible/"));
    let mut used: BTreeSet<String> = plays.flat_map(|(_, text)| names(text)).collect();
    // What the play registers is its own.
    used.remove("drivescope_runs");
    assert_eq!(used, names(&text("docs/ansible.md")));
}

#[test]
fn scripts_of_deployments_are_valid_shell() {
    let trials = ["slurm", "ansible", "systemd"].map(|name| format!("tests/{name}/run"));
    let jobs: Vec<String> = files().into_keys().filter(|path| path.ends_with(".sbatch")).collect();
    assert_eq!(jobs.len(), 3);
    let shared = "tests/support/private_postgres.sh".to_string();
    for path in jobs.iter().chain(&trials).chain([&shared]) {
        let script = root().join(path);
        Call::new("bash").arguments(&["-n", script.to_str().unwrap()]).end().code(0);
    }
}

/// All YAML can be read, and the DaemonSet fits the schemas of Kubernetes without an unknown field.
const YAML_CHECK: &str = r#"
import kubernetes_validate, pathlib, re, sys, yaml
root = pathlib.Path(sys.argv[1])
for path in sorted(root.glob("packaging/ansible/**/*.yml")):
    assert yaml.safe_load(path.read_text()), path
kinds = []
for part in yaml.safe_load_all((root / "packaging/kubernetes/daemonset.yaml").read_text()):
    kubernetes_validate.validate(part, kubernetes_validate.latest_version(), strict=True)
    kinds.append(part["kind"])
for part in re.findall("```yaml\n(.*?)```", (root / "docs/kubernetes.md").read_text(), re.DOTALL):
    kinds.append(*yaml.safe_load(part)["args"][:1])
print(*kinds)
"#;

#[test]
fn yaml_is_valid_and_fits_kubernetes() {
    let root = root();
    let own = root.join("target/duckdb/bin/python");
    let python = if own.exists() { own.display().to_string() } else { "python3".to_string() };
    if Call::new(&python).arguments(&["-c", "import kubernetes_validate"]).end().exit_code()
        != Some(0)
    {
        return skip_loudly("needs Python's kubernetes-validate: pip install kubernetes-validate");
    }
    let check =
        Call::new(&python).arguments(&["-c", YAML_CHECK, root.to_str().unwrap()]).end().code(0);
    assert_eq!(check.stdout.trim(), "Namespace ConfigMap Secret DaemonSet fleet");
}
