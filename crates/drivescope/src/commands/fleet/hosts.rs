//! `fleet hosts`.

use super::access;
use crate::arguments::HostsArguments;
use crate::exit::{Code, Failure};
use crate::output;
use drivescope_fleet::FleetTables;
use drivescope_model::Secs;
use drivescope_model::fleet::FleetHost;
use drivescope_report::{clean, fleet};

pub fn hosts(arguments: &HostsArguments) -> Result<Code, Failure> {
    let mut tables = access::open(&arguments.store, arguments.forget.is_some())?;
    if let Some(id) = &arguments.forget {
        return forget(id, &mut tables);
    }
    let hosts = tables.hosts()?;
    if arguments.json {
        output::print_document(&hosts);
    } else {
        output::print(&fleet::fleet_hosts(&hosts, output::style()));
    }
    Ok(Code::Ok)
}

fn forget(typed: &str, tables: &mut FleetTables) -> Result<Code, Failure> {
    let hosts = tables.hosts()?;
    let host = named(typed, &hosts)?;
    let name = &host.agent.name;
    if !host.is_lost() {
        let seen = Secs(host.seen_s_ago.max(0.0).round());
        let message = format!("host {name} was seen {seen} ago; stop its agent first");
        return Err(Failure::usage(message));
    }
    tables.forget_host(&host.agent.id)?;
    output::print_wrapped(&clean(&format!("forgot host {name} ({})", host.agent.id)));
    Ok(Code::Ok)
}

/// The host of an id, or of the beginning of one.
fn named<'h>(typed: &str, hosts: &'h [FleetHost]) -> Result<&'h FleetHost, Failure> {
    let begins = |host: &&FleetHost| !typed.is_empty() && host.agent.id.starts_with(typed);
    let found: Vec<&FleetHost> = hosts.iter().filter(begins).collect();
    match found[..] {
        [one] => Ok(one),
        [] => {
            let of_name = hosts.iter().filter(|host| host.agent.name == typed);
            let ids: Vec<&str> = of_name.map(|host| host.agent.id.as_str()).collect();
            let hint = if ids.is_empty() {
                "drivescope fleet hosts lists them".to_string()
            } else {
                format!("host {typed} has id {}", ids.join(" and "))
            };
            Err(Failure::usage(format!("--forget: no host with id '{typed}'; {hint}")))
        }
        _ => {
            let message = format!("--forget: {} ids begin with '{typed}'; type more", found.len());
            Err(Failure::usage(message))
        }
    }
}
