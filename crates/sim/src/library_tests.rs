//! Models as files.

use super::*;
use crate::device::Device;

#[test]
fn every_built_in_model_is_valid_and_named_like_its_file() {
    for &(name, text) in BUILT_IN {
        let model = Model::parse(name, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(model.name, name);
        let drive = model.build(&Start::default()).unwrap();
        assert_eq!(drive.capacity_bytes(), model.capacity_bytes());
    }
}

#[test]
fn every_file_is_a_built_in_model() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/models");
    let mut files: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    files.sort();
    let listed: Vec<String> = BUILT_IN.iter().map(|(name, _)| format!("{name}.toml")).collect();
    assert_eq!(files, listed);
}

#[test]
fn mistakes_are_named_with_line_and_field() {
    let (name, text) = BUILT_IN.iter().find(|(_, text)| text.contains("[hdd]")).unwrap();
    let line_with = |part: &str| text.lines().position(|line| line.starts_with(part)).unwrap() + 1;
    let unknown = text.replacen("\nrpm = ", "\nrpn = ", 1);
    match Model::parse(name, &unknown).unwrap_err() {
        ModelError::Broken { line, message, .. } => {
            assert!(message.contains("rpn"), "{message}");
            assert_eq!(line, line_with("rpm = "));
        }
        other => panic!("{other}"),
    }
    let still: String = text
        .lines()
        .map(|line| if line.starts_with("rpm = ") { "rpm = 0" } else { line })
        .collect::<Vec<_>>()
        .join("\n");
    match Model::parse(name, &still).unwrap_err() {
        ModelError::Impossible { line, field, .. } => {
            assert_eq!((line, field.as_str()), (line_with("rpm = "), "hdd.rpm"));
        }
        other => panic!("{other}"),
    }
}
