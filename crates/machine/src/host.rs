//! The machine a run takes place on, as far as it bears on measurements.

use crate::limits::cgroup_limits;
use crate::roots::{Roots, active_choice, list_dir, read_text, read_u64};
use drivescope_model::host::Host;

/// DMI vendor and product of virtual machines begin so; the third is the hypervisor.
const VIRTUAL_MACHINES: [(&str, &str, &str); 13] = [
    ("QEMU", "", "QEMU"),
    ("VMware", "", "VMware"),
    ("innotek", "", "VirtualBox"),
    ("Oracle", "VirtualBox", "VirtualBox"),
    ("Microsoft", "Virtual Machine", "Hyper-V"),
    ("Amazon EC2", "", "Amazon EC2"),
    ("Google", "Google Compute Engine", "Google Compute Engine"),
    ("Xen", "", "Xen"),
    ("Parallels", "", "Parallels"),
    ("BHYVE", "", "bhyve"),
    ("Apple", "Apple Virtualization", "Apple Virtualization"),
    ("OpenStack", "", "OpenStack"),
    ("Red Hat", "KVM", "KVM"),
];

/// What is known of this machine. Absent facts are empty or `None`; nothing here fails.
pub fn host(roots: &Roots) -> Host {
    let names = rustix::system::uname();
    let cpuinfo = read_text(roots.proc.join("cpuinfo")).unwrap_or_default();
    let status = read_text(roots.proc.join("self/status")).unwrap_or_default();
    Host {
        name: names.nodename().to_string_lossy().into_owned(),
        os: os_name(roots),
        kernel: names.release().to_string_lossy().into_owned(),
        cpu: cpu_model(roots, &cpuinfo),
        cpus: cpus_online(roots),
        governor: cpufreq(roots, "scaling_governor"),
        on_battery: on_battery(roots),
        memory_bytes: memory_bytes(roots),
        virtualization: virtualization(roots, &cpuinfo),
        clock_source: read_text(
            roots.sys.join("devices/system/clocksource/clocksource0/current_clocksource"),
        ),
        load: load(roots),
        microcode: field(&cpuinfo, "microcode").map(str::to_string),
        mitigations: mitigations(roots),
        numa_nodes: read_text(roots.sys.join("devices/system/node/online"))
            .and_then(|list| count_ranges(&list)),
        cpus_allowed: field(&status, "Cpus_allowed_list").map(str::to_string),
        memory_nodes_allowed: field(&status, "Mems_allowed_list").map(str::to_string),
        cgroup_limits: cgroup_limits(roots),
        pcie_power_policy: read_text(roots.sys.join("module/pcie_aspm/parameters/policy"))
            .map(|all| active_choice(&all)),
    }
}

/// Why the processor may run slowly to save power, as evidence for a finding; `None` when nothing
/// says so.
///
/// The governor `powersave` of the drivers intel_pstate and amd-pstate-epp still runs as fast as the
/// load asks for; that of all others stays at the lowest frequency.
pub fn power_save(host: &Host, roots: &Roots) -> Option<String> {
    if host.on_battery == Some(true) {
        return Some("the machine runs on battery".to_string());
    }
    let driver = cpufreq(roots, "scaling_driver");
    let boosts = matches!(driver.as_deref(), Some("intel_pstate" | "amd-pstate-epp"));
    (host.governor.as_deref() == Some("powersave") && !boosts).then(|| {
        let driver = driver.as_deref().unwrap_or("unknown");
        format!("the frequency governor is powersave (driver {driver})")
    })
}

fn load(roots: &Roots) -> Vec<f64> {
    let text = read_text(roots.proc.join("loadavg")).unwrap_or_default();
    text.split_whitespace().take(3).filter_map(|average| average.parse().ok()).collect()
}

fn mitigations(roots: &Roots) -> Vec<String> {
    let folder = roots.sys.join("devices/system/cpu/vulnerabilities");
    let mut names = list_dir(&folder);
    names.sort();
    let states = names.iter().filter_map(|name| Some((name, read_text(folder.join(name))?)));
    states.map(|(name, state)| format!("{name}: {state}")).collect()
}

/// `PRETTY_NAME` of os-release, which may be in quotes.
fn os_name(roots: &Roots) -> String {
    let text = read_text(roots.etc.join("os-release")).unwrap_or_default();
    let value = |key: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        let plain = line.trim().trim_matches(['"', '\'']);
        (!plain.is_empty()).then(|| plain.to_string())
    };
    value("PRETTY_NAME").or_else(|| value("NAME")).unwrap_or_else(|| "Linux".to_string())
}

/// Value of the first line `key : value`.
fn field<'a>(text: &'a str, key: &str) -> Option<&'a str> {
    text.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        (name.trim() == key && !value.trim().is_empty()).then_some(value.trim())
    })
}

/// Model of the processor; architectures name the line differently, and Arm often names the board.
fn cpu_model(roots: &Roots, cpuinfo: &str) -> String {
    ["model name", "cpu model", "cpu", "uarch", "Hardware"]
        .into_iter()
        .find_map(|key| field(cpuinfo, key).map(str::to_string))
        .or_else(|| read_text(roots.sys.join("firmware/devicetree/base/model")))
        .unwrap_or_else(|| std::env::consts::ARCH.to_string())
}

/// Processors online, `0-3,6` in sysfs; else those this process may use.
fn cpus_online(roots: &Roots) -> u32 {
    read_text(roots.sys.join("devices/system/cpu/online"))
        .and_then(|list| count_ranges(&list))
        .or_else(|| u32::try_from(std::thread::available_parallelism().ok()?.get()).ok())
        .unwrap_or(1)
}

/// How many numbers a list of ranges names; `None` when it is no such list.
fn count_ranges(list: &str) -> Option<u32> {
    list.split(',').try_fold(0u32, |count, range| {
        let (first, last) = range.split_once('-').unwrap_or((range, range));
        let (first, last): (u32, u32) = (first.trim().parse().ok()?, last.trim().parse().ok()?);
        count.checked_add(last.checked_sub(first)?.checked_add(1)?)
    })
}

fn cpufreq(roots: &Roots, attr: &str) -> Option<String> {
    let cpu = roots.sys.join("devices/system/cpu");
    read_text(cpu.join("cpu0/cpufreq").join(attr))
        .or_else(|| read_text(cpu.join("cpufreq/policy0").join(attr)))
}

/// Whether a battery feeds the machine; `None` when neither battery nor mains is reported.
fn on_battery(roots: &Roots) -> Option<bool> {
    let all = roots.sys.join("class/power_supply");
    let mut known = None;
    let mut discharging = false;
    for name in list_dir(&all) {
        let attr = |attr: &str| read_text(all.join(&name).join(attr));
        // Mice and keyboards have batteries too.
        if attr("scope").as_deref() == Some("Device") {
            continue;
        }
        match attr("type").as_deref() {
            // Chargers over USB-C are of type USB.
            Some("Mains" | "USB" | "Wireless") => match read_u64(all.join(&name).join("online")) {
                Some(online) if online > 0 => return Some(false),
                Some(_) => known = Some(false),
                None => {}
            },
            Some("Battery" | "UPS") => {
                known = Some(false);
                discharging |= attr("status").as_deref() == Some("Discharging");
            }
            _ => {}
        }
    }
    known.map(|_| discharging)
}

/// `MemTotal` of meminfo, which is in KiB.
fn memory_bytes(roots: &Roots) -> u64 {
    let text = read_text(roots.proc.join("meminfo")).unwrap_or_default();
    let kib =
        field(&text, "MemTotal").and_then(|value| value.split_whitespace().next()?.parse().ok());
    kib.map_or(0, |kib: u64| kib.saturating_mul(1024))
}

fn virtualization(roots: &Roots, cpuinfo: &str) -> Option<String> {
    let seen: Vec<String> =
        [hypervisor(roots, cpuinfo), container(roots)].into_iter().flatten().collect();
    (!seen.is_empty()).then(|| seen.join(", "))
}

fn hypervisor(roots: &Roots, cpuinfo: &str) -> Option<String> {
    let release = read_text(roots.proc.join("sys/kernel/osrelease")).unwrap_or_default();
    if release.to_ascii_lowercase().contains("microsoft") {
        return Some("WSL".to_string());
    }
    // x86 processors report it by a flag; DMI only adds the name, because rented bare metal carries the names of its
    // cloud.
    let flags = field(cpuinfo, "flags");
    if flags.is_some_and(|flags| flags.split_whitespace().all(|flag| flag != "hypervisor")) {
        return None;
    }
    let by_dmi = || {
        let dmi =
            |name: &str| read_text(roots.sys.join("class/dmi/id").join(name)).unwrap_or_default();
        let (vendor, product) = (dmi("sys_vendor"), dmi("product_name"));
        VIRTUAL_MACHINES
            .iter()
            .find(|(v, p, _)| vendor.starts_with(v) && product.starts_with(p))
            .map(|(_, _, name)| name.to_string())
    };
    let by_xen = || read_text(roots.sys.join("hypervisor/type"));
    let by_tree = || {
        let node = roots.sys.join("firmware/devicetree/base/hypervisor/compatible");
        read_text(node).map(|text| text.split('\0').next().unwrap_or_default().to_string())
    };
    by_dmi()
        .or_else(by_xen)
        .or_else(by_tree)
        .or_else(|| flags.map(|_| "virtual machine".to_string()))
}

fn container(roots: &Roots) -> Option<String> {
    if let Some(name) = read_text(roots.run.join("systemd/container")) {
        return Some(format!("{name} container"));
    }
    let root = roots.etc.parent();
    if roots.run.join(".containerenv").exists() {
        return Some("podman container".to_string());
    }
    if root.is_some_and(|root| root.join(".dockerenv").exists()) {
        return Some("docker container".to_string());
    }
    let groups = read_text(roots.proc.join("1/cgroup")).unwrap_or_default();
    [
        ("kubepods", "kubernetes"),
        ("/docker/", "docker"),
        ("/lxc", "lxc"),
        ("/machine.slice/", "nspawn"),
    ]
    .into_iter()
    .find(|(mark, _)| groups.contains(mark))
    .map(|(_, name)| format!("{name} container"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::roots::fake::Fake;
    use proptest::prelude::*;

    const X86: &str = "processor\t: 0\nmodel name\t: Example CPU 3000\nmicrocode\t: 0xa0011d1\nflags\t\t: fpu hypervisor lm\n";
    const METAL: &str = "model name\t: Example CPU 3000\nflags\t\t: fpu lm\n";

    #[test]
    fn a_host_is_described_from_its_files() {
        let fake = Fake::new();
        fake.file("proc/cpuinfo", X86);
        fake.file("proc/meminfo", "MemTotal:       24684084 kB\nMemFree: 1 kB\n");
        fake.file("etc/os-release", "NAME=Example\nPRETTY_NAME=\"Example Linux 12\"\n");
        fake.file("sys/devices/system/cpu/online", "0-3,6");
        fake.file("sys/devices/system/cpu/cpu0/cpufreq/scaling_governor", "performance");
        fake.file("sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
        fake.file("sys/class/dmi/id/sys_vendor", "QEMU");
        fake.file("proc/loadavg", "0.52 1.5 2.25 3/210 4711\n");
        fake.file("proc/self/status", "Name:\tx\nCpus_allowed_list:\t0-2\nMems_allowed_list:\t0\n");
        fake.file("sys/devices/system/node/online", "0-1");
        fake.file("sys/devices/system/cpu/vulnerabilities/meltdown", "Not affected");
        fake.file("sys/devices/system/cpu/vulnerabilities/l1tf", "Mitigation: PTE Inversion");
        fake.file("sys/module/pcie_aspm/parameters/policy", "default [performance] powersave");
        let host = host(&fake.roots);
        assert_eq!((host.os.as_str(), host.cpu.as_str()), ("Example Linux 12", "Example CPU 3000"));
        assert_eq!((host.cpus, host.memory_bytes), (5, 24_684_084 * 1024));
        assert_eq!((host.load.as_slice(), host.numa_nodes), (&[0.52, 1.5, 2.25][..], Some(2)));
        assert_eq!(host.cpus_allowed.as_deref(), Some("0-2"));
        assert_eq!(host.memory_nodes_allowed.as_deref(), Some("0"));
        assert_eq!(host.mitigations, ["l1tf: Mitigation: PTE Inversion", "meltdown: Not affected"]);
        assert_eq!(host.pcie_power_policy.as_deref(), Some("performance"));
        assert_eq!(host.microcode.as_deref(), Some("0xa0011d1"));
        assert_eq!(host.governor.as_deref(), Some("performance"));
        assert_eq!(host.clock_source.as_deref(), Some("tsc"));
        assert_eq!(host.virtualization.as_deref(), Some("QEMU"));
        assert_eq!(host.on_battery, None);
        assert!(!host.name.is_empty() && !host.kernel.is_empty());
    }

    #[test]
    fn a_host_that_tells_nothing_is_still_described() {
        let host = host(&Fake::new().roots);
        assert_eq!((host.os.as_str(), host.cpu.as_str()), ("Linux", std::env::consts::ARCH));
        assert!(host.cpus >= 1);
        assert_eq!((host.memory_bytes, host.virtualization), (0, None));
    }

    #[test]
    fn this_machine_has_memory_and_processors() {
        let host = host(&Roots::host());
        assert!(host.memory_bytes > 1 << 20 && host.cpus >= 1, "{host:?}");
    }

    #[test]
    fn powersave_counts_only_without_a_driver_that_boosts() {
        let fake = Fake::new();
        let cpu = "sys/devices/system/cpu/cpu0/cpufreq";
        for (governor, driver, seen) in [
            ("powersave", "acpi-cpufreq", true),
            ("powersave", "intel_cpufreq", true),
            ("powersave", "intel_pstate", false),
            ("powersave", "amd-pstate-epp", false),
            ("performance", "acpi-cpufreq", false),
            ("schedutil", "acpi-cpufreq", false),
        ] {
            fake.file(&format!("{cpu}/scaling_driver"), driver);
            let host = Host { governor: Some(governor.into()), ..Host::default() };
            let evidence = power_save(&host, &fake.roots);
            assert_eq!(evidence.is_some(), seen, "{governor} {driver}");
            assert!(evidence.is_none_or(|text| text.contains(driver)));
        }
        let battery = Host { on_battery: Some(true), ..Host::default() };
        assert!(power_save(&battery, &fake.roots).unwrap().contains("battery"));
    }

    /// Power supplies as (name, type, attribute, value).
    fn battery(supplies: &[(&str, &str, &str, &str)]) -> Option<bool> {
        let fake = Fake::new();
        for (name, kind, attr, value) in supplies {
            fake.file(&format!("sys/class/power_supply/{name}/type"), kind);
            fake.file(&format!("sys/class/power_supply/{name}/{attr}"), value);
        }
        on_battery(&fake.roots)
    }

    #[test]
    fn discharging_battery_without_mains_feeds_the_machine() {
        let off = ("AC", "Mains", "online", "0");
        let on = ("AC", "Mains", "online", "1");
        let usb_c = ("ucsi", "USB", "online", "1");
        let low = ("BAT0", "Battery", "status", "Discharging");
        let full = ("BAT1", "Battery", "status", "Full");
        let mouse = ("hid-1", "Battery", "scope", "Device");
        for (supplies, expected) in [
            (&[][..], None),
            (&[off, low], Some(true)),
            (&[on, low], Some(false)),
            (&[off, low, usb_c], Some(false)),
            (&[low, full], Some(true)),
            (&[full], Some(false)),
            (&[off], Some(false)),
            (&[mouse], None),
        ] {
            assert_eq!(battery(supplies), expected, "{supplies:?}");
        }
    }

    #[test]
    fn hypervisors_are_named_bare_metal_is_not() {
        for (cpuinfo, vendor, product, expected) in [
            (X86, "QEMU", "Standard PC", Some("QEMU")),
            (X86, "Microsoft Corporation", "Virtual Machine", Some("Hyper-V")),
            (X86, "Microsoft Corporation", "Surface Pro", Some("virtual machine")),
            (X86, "", "", Some("virtual machine")),
            (METAL, "Amazon EC2", "m5.metal", None),
            ("CPU part : 0xd0c", "Amazon EC2", "c6g.large", Some("Amazon EC2")),
            ("CPU part : 0xd0c", "Example", "Board", None),
        ] {
            let fake = Fake::new();
            fake.file("sys/class/dmi/id/sys_vendor", vendor);
            fake.file("sys/class/dmi/id/product_name", product);
            let got = virtualization(&fake.roots, cpuinfo);
            assert_eq!(got.as_deref(), expected, "{vendor} {product}");
        }
    }

    #[test]
    fn hypervisors_without_dmi_and_containers_leave_other_marks() {
        for (file, content, cpuinfo, expected) in [
            ("sys/hypervisor/type", "xen", X86, "xen"),
            ("sys/firmware/devicetree/base/hypervisor/compatible", "linux,kvm\0", "", "linux,kvm"),
            ("proc/sys/kernel/osrelease", "5.15.0-microsoft-standard-WSL2", X86, "WSL"),
            ("run/systemd/container", "lxc", METAL, "lxc container"),
            ("run/.containerenv", "", METAL, "podman container"),
            (".dockerenv", "", METAL, "docker container"),
            ("proc/1/cgroup", "0::/kubepods/besteffort/x", METAL, "kubernetes container"),
            (".dockerenv", "", X86, "virtual machine, docker container"),
        ] {
            let fake = Fake::new();
            fake.file(file, content);
            let got = virtualization(&fake.roots, cpuinfo);
            assert_eq!(got.as_deref(), Some(expected), "{file}");
        }
        assert_eq!(virtualization(&Fake::new().roots, METAL), None);
    }

    #[test]
    fn lists_of_processors_are_counted() {
        for (list, expected) in [
            ("0", Some(1)),
            ("0-1", Some(2)),
            ("0-3,6,8-9", Some(7)),
            ("", None),
            ("3-1", None),
            ("0-4294967295", None),
        ] {
            assert_eq!(count_ranges(list), expected, "{list}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_taken(text in "[ -~\n\t]{0,80}") {
            let _ = (count_ranges(&text), field(&text, "cpu"));
        }
    }
}
