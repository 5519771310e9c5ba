//! `fleet hosts`.

use super::lasting;
use crate::terminal::{Column, Paragraph, Role, Style, TextCell, TextTable, sections};
use drivescope_model::fleet::FleetHost;

/// Enough to tell hosts apart.
const ID_SHOWN: usize = 8;

/// A row for each host, then what is wrong.
pub fn fleet_hosts(hosts: &[FleetHost], style: Style) -> String {
    if hosts.is_empty() {
        let text = "no host is announced; start drivescope fleet agent on each machine";
        return Paragraph::new().text(Role::Dim, text).lines(0, style);
    }
    let layout = vec![
        Column::left().flexible(12),
        Column::left(),
        Column::right(),
        Column::left().flexible(5),
        Column::left(),
        Column::right(),
        Column::right(),
        Column::right(),
    ];
    let heads = ["id", "last seen", "version", "ceiling", "drives", "waiting", "running"];
    let mut table = TextTable::with_heads(layout, "host", &heads);
    for host in hosts {
        let seen = lasting(host.seen_s_ago);
        let seen = if host.is_lost() {
            TextCell::new(Role::Bad, format!("lost {seen}"))
        } else {
            TextCell::plain(seen)
        };
        let count = |count: u32| if count == 0 { String::new() } else { count.to_string() };
        table.row(vec![
            TextCell::title(&host.agent.name),
            TextCell::dim(host.agent.id.chars().take(ID_SHOWN).collect::<String>()),
            seen,
            TextCell::dim(&host.agent.version),
            TextCell::plain(host.agent.ceiling.name()),
            TextCell::plain(host.drives.to_string()),
            TextCell::plain(count(host.waiting)),
            TextCell::plain(count(host.running)),
        ]);
    }
    let remarks: String = hosts.iter().map(|host| remarks(host, hosts, style)).collect();
    sections([table.render(style), remarks])
}

fn remarks(host: &FleetHost, hosts: &[FleetHost], style: Style) -> String {
    let name = &host.agent.name;
    let is_successor = |other: &&FleetHost| other.agent.name == *name && !other.is_lost();
    let successor = hosts.iter().find(is_successor).filter(|_| host.is_lost()).map(|other| {
        let [id, new] = [host, other].map(|it| it.agent.id.chars().take(ID_SHOWN).collect::<String>());
        let text = format!(
            "{name}: {id} is lost, and {new} has its name: if the host was installed anew, drivescope fleet hosts \
             --forget {id} removes the old one with its jobs ({} waiting)",
            host.waiting
        );
        Paragraph::new().text(Role::Warn, text).lines(2, style)
    });
    let missing = host.missing.iter().map(|(drive, since_s)| {
        let text = format!("{name}: drive {drive} missing for {}", lasting(*since_s));
        Paragraph::new().text(Role::Warn, text).lines(2, style)
    });
    let clone = host.same_machine_as.iter().map(|other| {
        let text = format!(
            "{name}: {other} has the same machine id: a copy of this installation, or installed anew; give one \
             another id (rm /etc/machine-id, systemd-machine-id-setup), or forget the host that is gone (--forget ID)"
        );
        Paragraph::new().text(Role::Warn, text).lines(2, style)
    });
    missing.chain(clone).chain(successor).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fleet::testing::{HOSTILE, host, must_be_tame};

    #[test]
    fn lost_hosts_missing_drives_and_copies_are_named() {
        let mut hosts = [host("rack7-3", 12.0), host("rack7-4", 720.0)];
        hosts[0].missing.push(("sdb".into(), 260_000.0));
        hosts[0].running = 2;
        hosts[1].same_machine_as = Some("rack7-3 (rack7-3-)".into());
        let text = fleet_hosts(&hosts, Style::PLAIN);
        must_be_tame(&text);
        for part in [
            "lost 12 min 00 s",
            "rack7-3: drive sdb missing for 3 d",
            "rack7-4: rack7-3 (rack7-3-) has the same machine id",
        ] {
            assert!(text.contains(part), "{text}");
        }
    }

    #[test]
    fn hostile_names_are_tame() {
        let mut hosts = [host(&HOSTILE.repeat(500), 1.0)];
        hosts[0].agent.id = HOSTILE.into();
        hosts[0].agent.version = HOSTILE.repeat(3);
        hosts[0].missing.push((HOSTILE.into(), f64::NAN));
        hosts[0].same_machine_as = Some(HOSTILE.into());
        must_be_tame(&fleet_hosts(&hosts, Style::PLAIN));
        assert!(fleet_hosts(&[], Style::PLAIN).starts_with("no host is announced"));
    }
}
