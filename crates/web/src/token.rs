//! The token that lets a browser in where others could reach the pages.

use std::fmt::Write as _;
use std::hint::black_box;
use std::io::{self, Read};

/// Random bytes of a token: 2^128 values cannot be guessed.
const BYTES: usize = 16;

/// A random token, in hexadecimal digits.
#[derive(Clone)]
pub struct AccessToken(String);

impl AccessToken {
    /// Errors: the system gives no random bytes.
    pub fn random() -> io::Result<Self> {
        let mut bytes = [0; BYTES];
        std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
        let mut digits = String::with_capacity(2 * BYTES);
        for byte in bytes {
            // Writing into a text does not fail.
            let _ = write!(digits, "{byte:02x}");
        }
        Ok(Self(digits))
    }

    /// For the address that is printed, and for the cookie.
    pub fn digits(&self) -> &str {
        &self.0
    }

    /// Compares in constant time.
    pub(crate) fn is(&self, sent: &str) -> bool {
        let (own, sent) = (self.0.as_bytes(), sent.as_bytes());
        let differences = own.iter().zip(sent).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        own.len() == sent.len() && differences == 0
    }
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
    }
}
