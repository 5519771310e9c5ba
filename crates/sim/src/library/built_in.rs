//! The built-in models.

macro_rules! models {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../models/", $name, ".toml")))),*]
    };
}

/// The built-in models: name and text of the file. A test compares the list with the folder.
pub const BUILT_IN: &[(&str, &str)] = models![
    "corsair-mp510-240"
    "easystore-2tb"
    "hds722020ala330"
    "hgst-7k1000"
    "kioxia-bg4-128"
    "laptop-ssd-2015"
    "pm871b-128"
    "samsung-860evo-1tb"
    "samsung-860evo-250"
    "samsung-870evo-1tb"
    "st8000as0002-smr"
    "toshiba-xg6-1tb"
    "usb-16tb"
    "wd10ears"
    "wd15earx"
    "wd15gp"
    "wd20eads"
    "wd20ears"
    "wd4000aaks"
    "wd40efrx"
    "wd40ezrz"
];
