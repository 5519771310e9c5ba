//! Signs for terminals and pipes whose locale is not UTF-8.

use std::sync::LazyLock;

/// Read once: nothing changes it while the program runs.
static IS_ASCII: LazyLock<bool> = LazyLock::new(|| {
    let value = |name| std::env::var_os(name).map(|value| value.to_string_lossy().into_owned());
    is_ascii(&["LC_ALL", "LC_CTYPE", "LANG"].map(value))
});

/// `text` as the locale can show it.
pub(super) fn shown(text: &str) -> String {
    if *IS_ASCII { in_ascii(text) } else { text.to_string() }
}

/// The first variable that is set names the locale. Where none is, as in containers and cron jobs, nothing says that
/// UTF-8 cannot be shown.
fn is_ascii(variables: &[Option<String>]) -> bool {
    let locale = variables.iter().flatten().find(|value| !value.is_empty());
    let name = locale.map(|value| value.to_ascii_lowercase().replace('-', ""));
    name.is_some_and(|name| !name.contains("utf8"))
}

fn in_ascii(text: &str) -> String {
    // As wide as before, so that columns stay below each other.
    let text = text.replace(" ± ", " +-");
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        let sign = match c {
            '\0'..='\x7f' => {
                ascii.push(c);
                continue;
            }
            'µ' => "u",
            '±' => "+-",
            '–' | '—' | '·' | '─' | '→' => "-",
            '●' | '★' | '°' => "*",
            '○' => ".",
            '▲' => "+",
            '▼' => "-",
            '▁' | '▂' => "_",
            '▃'..='▅' | '━' => "=",
            '▆'..='█' => "#",
            '╸' | '▸' => ">",
            '…' => "...",
            '×' => "x",
            '≤' => "<=",
            '≥' => ">=",
            '\u{a0}' => " ",
            _ => "?",
        };
        ascii += sign;
    }
    ascii
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_locale_variable_that_is_set_decides() {
        for (variables, ascii) in [
            ([None, None, None], false),
            ([None, None, Some("C")], true),
            ([None, None, Some("de_DE.UTF-8")], false),
            ([None, None, Some("C.utf8")], false),
            ([None, Some("en_GB.ISO-8859-1"), Some("C.UTF-8")], true),
            ([Some("C.UTF-8"), Some("C"), Some("C")], false),
            ([Some(""), None, Some("POSIX")], true),
        ] {
            let variables = variables.map(|value| value.map(str::to_string));
            assert_eq!(is_ascii(&variables), ascii, "{variables:?}");
        }
    }

    #[test]
    fn signs_keep_their_meaning_and_tables_their_columns() {
        for (text, ascii) in [
            ("287 µs ·  181.2 ± 0.1", "287 us -  181.2 +-0.1"),
            ("●●○ ▲ 1.46 ▼ 1–2 4×", "**. + 1.46 - 1-2 4x"),
            ("▁▄█ ≥ 3 …", "_=# >= 3 ..."),
            ("größer", "gr??er"),
        ] {
            assert_eq!(in_ascii(text), ascii);
        }
    }
}
