//! `cargo xtask sbom FOLDER`: what the program is made of, as CycloneDX for people and tools, and as the section
//! `.dep-v0` that auditors find in the program itself (zlib over JSON, the format of cargo-auditable).

use crate::programs::finished;
use crate::workspace::root;
use flate2::Compression;
use flate2::write::ZlibEncoder;
use serde_json::{Value, json};
use std::io::Write as _;
use std::process::Command;

/// A crate that the program has.
struct Part {
    name: String,
    version: String,
    license: String,
    is_of_registry: bool,
    /// Indexes of what it uses.
    uses: Vec<usize>,
}

#[expect(clippy::disallowed_methods, reason = "two files in the folder of the packages")]
pub fn write(folder: &str) -> Result<(), String> {
    let parts = parts(&tree()?)?;
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(format!("{folder}/{name}"), bytes)
            .map_err(|e| format!("{folder}/{name}: {e}"))
    };
    let text = serde_json::to_string_pretty(&cyclonedx(&parts)).map_err(|e| e.to_string())?;
    write("drivescope.cdx.json", (text + "\n").as_bytes())?;
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::best());
    zlib.write_all(section(&parts).to_string().as_bytes()).map_err(|e| e.to_string())?;
    write("dependencies.zlib", &zlib.finish().map_err(|e| e.to_string())?)
}

/// Everything that the program needs to run: what is only used to build or to test it is left out.
fn tree() -> Result<String, String> {
    let mut cargo = Command::new("cargo");
    cargo.current_dir(root()).args(["tree", "--locked", "--package=drivescope", "--edges=normal"]);
    cargo.args(["--target=x86_64-unknown-linux-musl", "--prefix=depth", "--format=\t{p}\t{l}\t"]);
    finished(cargo)
}

/// The program first. Lines are `2`, `name v1.0.0 (place)`, `MIT`: deeper ones are used by the last one above them that
/// is less deep, and a part that was shown before stands without what it uses.
fn parts(tree: &str) -> Result<Vec<Part>, String> {
    let mut parts: Vec<Part> = Vec::new();
    // Indexes of the parts that the line lies below.
    let mut above: Vec<usize> = Vec::new();
    for line in tree.lines() {
        let wrong = || format!("cargo tree printed: {line}");
        let mut fields = line.split('\t');
        let depth: usize = fields.next().and_then(|it| it.parse().ok()).ok_or_else(wrong)?;
        let (package, license) = fields.next().zip(fields.next()).ok_or_else(wrong)?;
        let mut words = package.split(' ');
        let (name, version) = words.next().zip(words.next()).ok_or_else(wrong)?;
        let version = version.trim_start_matches('v');
        let known = parts.iter().position(|it| it.name == name && it.version == version);
        let index = known.unwrap_or_else(|| {
            parts.push(Part {
                name: name.to_string(),
                version: version.to_string(),
                license: license.to_string(),
                is_of_registry: !package.contains('/'),
                uses: Vec::new(),
            });
            parts.len() - 1
        });
        above.truncate(depth);
        if let Some(user) = above.last() {
            let uses = &mut parts[*user].uses;
            if !uses.contains(&index) {
                uses.push(index);
            }
        }
        above.push(index);
    }
    Ok(parts)
}

fn cyclonedx(parts: &[Part]) -> Value {
    let component = |part: &Part, kind: &str| {
        json!({
            "type": kind, "bom-ref": purl(part), "name": part.name, "version": part.version, "purl": purl(part),
            "licenses": [{ "expression": part.license.replace('/', " OR ") }],
        })
    };
    let depends = |part: &Part| {
        let on: Vec<String> = part.uses.iter().map(|i| purl(&parts[*i])).collect();
        json!({ "ref": purl(part), "dependsOn": on })
    };
    json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "component": component(&parts[0], "application") },
        "components": parts[1..].iter().map(|part| component(part, "library")).collect::<Vec<_>>(),
        "dependencies": parts.iter().map(depends).collect::<Vec<_>>(),
    })
}

fn purl(part: &Part) -> String {
    format!("pkg:cargo/{}@{}", part.name, part.version)
}

fn section(parts: &[Part]) -> Value {
    json!({ "packages": parts.iter().enumerate().map(package_json).collect::<Vec<_>>() })
}

fn package_json((i, part): (usize, &Part)) -> Value {
    let source = if part.is_of_registry { "crates.io" } else { "local" };
    let mut it = json!({
        "name": part.name, "version": part.version, "source": source, "dependencies": part.uses,
    });
    if i == 0 {
        it["root"] = json!(true);
    }
    it
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workspace::read;

    /// Whether an expression like `(MIT OR Apache-2.0) AND Unicode-3.0` needs only licences of the list.
    fn is_allowed(expression: &str, allowed: &[String]) -> bool {
        let plain = expression.replace('/', " OR ").replace(['(', ')'], "");
        let one = |choice: &str| allowed.iter().any(|known| known == choice.trim());
        plain.split(" AND ").all(|part| part.split(" OR ").any(one))
    }

    /// What `cargo deny check licenses bans` looks at, for the parts of the program and without a network.
    #[test]
    fn licences_are_permissive_and_nothing_banned_is_used() {
        fn words(value: &toml::Value) -> Vec<String> {
            let all = value.as_array().unwrap().iter();
            all.map(|it| it.get("crate").unwrap_or(it).as_str().unwrap().to_string()).collect()
        }
        let rules: toml::Table = read("deny.toml").unwrap().parse().unwrap();
        let (allowed, banned) = (words(&rules["licenses"]["allow"]), words(&rules["bans"]["deny"]));
        for part in parts(&tree().unwrap()).unwrap() {
            assert!(is_allowed(&part.license, &allowed), "{}: {}", part.name, part.license);
            assert!(!banned.contains(&part.name), "{} is banned", part.name);
            // RUSTSEC-2026-0260: this version had malicious code, and crates.io has removed it.
            assert_ne!((part.name.as_str(), part.version.as_str()), ("arrayref", "0.3.10"));
        }
        assert!(!is_allowed("GPL-3.0-only", &allowed) && !is_allowed("MIT AND GPL-2.0", &allowed));
    }

    #[test]
    fn all_that_runs_is_listed_with_its_licence() {
        let parts = parts(&tree().unwrap()).unwrap();
        assert_eq!(parts[0].name, "drivescope");
        let has = |name: &str| parts.iter().any(|part| part.name == name);
        assert!(has("io-uring") && has("drivescope-drive") && !has("tempfile") && !has("insta"));
        for part in &parts {
            assert!(!part.license.is_empty(), "{} has no licence", part.name);
        }
        let document = cyclonedx(&parts);
        assert_eq!(document["components"].as_array().unwrap().len(), parts.len() - 1);
        assert_eq!(section(&parts)["packages"][0]["root"], true);
    }
}
