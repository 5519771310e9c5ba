//! `host=`: computers above a simulated drive, by name.

use drivescope_model::nearest::nearest;
use drivescope_model::shortened::shortened;
use drivescope_sim::host::HostParams;

type HostMaker = fn() -> HostParams;

const HOSTS: [(&str, HostMaker); 2] =
    [("desktop", HostParams::default), ("laptop-2015", HostParams::laptop_2015)];

/// Errors: there is none; in one line.
pub(super) fn named(name: &str) -> Result<HostParams, String> {
    if let Some((_, host)) = HOSTS.iter().find(|(known, _)| *known == name) {
        return Ok(host());
    }
    let names = HOSTS.map(|(known, _)| known);
    let hint = nearest(name, names.into_iter()).map(|near| format!(" (did you mean '{near}'?)"));
    let (name, hint) = (shortened(name), hint.unwrap_or_default());
    Err(format!("no host '{name}'{hint}; there are {}", names.join(" and ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_known_by_name() {
        assert_eq!(named("desktop"), Ok(HostParams::default()));
        assert_eq!(named("laptop-2015"), Ok(HostParams::laptop_2015()));
        assert_eq!(named(""), Err("no host ''; there are desktop and laptop-2015".to_string()));
    }
}
