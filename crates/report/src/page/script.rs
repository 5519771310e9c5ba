//! The one script of pages: values at the pointer and under arrow keys, series to show and hide, charts enlarged, and
//! everything unfolded before printing. Pages are whole without it.

use base64::Engine as _;
use sha2::{Digest, Sha256};

pub fn page_script() -> &'static str {
    concat!(include_str!("script.js"), include_str!("chart_tools.js"))
}

/// Source expressions for `script-src` and `style-src` of a content security policy under which pages work: hashes of
/// the page's own elements.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageHashes {
    /// `'sha256-…'` of the script.
    pub script: String,
    /// `'sha256-…'` of the style sheet.
    pub style: String,
}

pub fn page_hashes() -> PageHashes {
    fn hash(text: &str) -> String {
        let digest = Sha256::digest(text.as_bytes());
        format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
    }
    PageHashes { script: hash(page_script()), style: hash(&super::style::page_style()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::hard_disk;

    fn element<'p>(page: &'p str, name: &str) -> &'p str {
        let (_, rest) = page.split_once(&format!("<{name}>")).expect("it is there");
        rest.split_once(&format!("</{name}>")).expect("it ends").0
    }

    #[test]
    fn hashes_match_the_scripts_of_the_page() {
        let page = crate::page::page(&hard_disk(), |_| String::new()).alone();
        let hash = |name| {
            let digest = Sha256::digest(element(&page, name).as_bytes());
            format!("'sha256-{}'", base64::engine::general_purpose::STANDARD.encode(digest))
        };
        let allowed = PageHashes { script: hash("script"), style: hash("style") };
        assert_eq!(page_hashes(), allowed);
        // Nothing that a policy without 'unsafe-inline' would refuse.
        assert!(
            !page.contains(" style=\"")
                && !page.contains(" onload=")
                && !page.contains("javascript:")
        );
    }

    #[test]
    fn the_script_is_small_and_ends_no_element() {
        assert!(page_script().len() < 8_192, "{}", page_script().len());
        assert!(page_script().is_ascii() && !page_script().contains("</"));
    }
}
