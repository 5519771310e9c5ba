//! The token that lets a browser in where others could reach the pages.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Read};

/// A shorter one can be guessed.
const KEPT_MIN: usize = 16;

/// Random bytes of a token: 2^128 values cannot be guessed.
const BYTES: usize = 16;

/// A random token, and what the cookie of an admitted browser has instead of it: whoever reads a cookie does not learn
/// the token. Both in hexadecimal digits, and valid until the server ends, unless the token is kept.
#[derive(Clone)]
pub struct AccessToken {
    token: String,
    cookie: String,
}

impl AccessToken {
    /// Errors: the system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut source = std::fs::File::open("/dev/urandom")?;
        Ok(Self { token: digits(&mut source)?, cookie: digits(&mut source)? })
    }

    /// With a token that outlives the server; `None` if it can be guessed or does not fit into an address.
    pub fn kept(token: &str) -> io::Result<Option<Self>> {
        let is_fit = token.len() >= KEPT_MIN && token.bytes().all(|b| b.is_ascii_alphanumeric());
        Ok(if is_fit { Some(Self { token: token.to_string(), ..Self::random()? }) } else { None })
    }

    /// For the address that is printed.
    pub fn digits(&self) -> &str {
        &self.token
    }

    /// The value of the cookie.
    pub(crate) fn of_cookie(&self) -> &str {
        &self.cookie
    }

    pub(crate) fn is(&self, sent: &str) -> bool {
        are_equal(&self.token, sent)
    }

    pub(crate) fn is_cookie(&self, sent: &str) -> bool {
        are_equal(&self.cookie, sent)
    }
}

fn digits(source: &mut impl Read) -> io::Result<String> {
    let mut bytes = [0; BYTES];
    source.read_exact(&mut bytes)?;
    let mut digits = String::with_capacity(2 * BYTES);
    for byte in bytes {
        // Writing into a text does not fail.
        let _ = write!(digits, "{byte:02x}");
    }
    Ok(digits)
}

/// Compares in constant time.
fn are_equal(own: &str, sent: &str) -> bool {
    let (own, sent) = (own.as_bytes(), sent.as_bytes());
    let differences = own.iter().zip(sent).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
    own.len() == sent.len() && differences == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = AccessToken::random().unwrap();
        let digits = token.digits().to_string();
        assert_eq!(digits.len(), 32);
        assert!(token.is(&digits) && !token.is("") && !token.is(&digits[1..]));
        assert!(!token.is(&format!("{digits}0")) && !token.is(&digits.replace(&digits[..1], "x")));
        assert!(!token.is(AccessToken::random().unwrap().digits()));
        assert!(token.is_cookie(token.of_cookie()) && !token.is_cookie(&digits));
        assert!(!token.is(token.of_cookie()));
        let kept = AccessToken::kept("0123456789abcdeF").unwrap().unwrap();
        assert!(kept.is("0123456789abcdeF") && !kept.is_cookie("0123456789abcdeF"));
        for unfit in ["", "0123456789abcde", "0123456789abcde&", "0123456789 abcdef"] {
            assert!(AccessToken::kept(unfit).unwrap().is_none(), "{unfit}");
        }
    }
}
