//! Whether two drives are the same, how sure that is, and from what.

use super::DriveIdentity;
use std::fmt;

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sameness {
    /// The same: no other drive reports this.
    Sure(MatchedBy),
    /// Everything reported agrees, but another drive may report it too: a cheap stick, any drive in a dock.
    Likely(MatchedBy),
    /// One reports less than the other, or is elsewhere: a drive's report depends on its connection.
    Unknown(Difference),
    /// Different: both report a value, and it differs.
    Different(Difference),
}

impl Sameness {
    pub fn difference(&self) -> Option<&Difference> {
        match self {
            Self::Sure(_) | Self::Likely(_) => None,
            Self::Unknown(difference) | Self::Different(difference) => Some(difference),
        }
    }

    /// Whether they may be the same: for refusing in doubt.
    pub fn is_possible(&self) -> bool {
        !matches!(self, Self::Different(_))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchedBy {
    Wwn,
    /// The same bytes of the same file.
    File,
    /// Serial number that the drive itself reported.
    OwnSerial,
    Serial,
    Place,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Difference {
    Value {
        /// `serial number`.
        what: &'static str,
        own: String,
        other: String,
    },
    /// Another drive is in its place; in words.
    TakenPlace(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value { what, own, other } => write!(f, "its {what} is {other}, not {own}"),
            Self::TakenPlace(words) => f.write_str(words),
        }
    }
}

impl DriveIdentity {
    /// Whether `other` is the same drive, whichever part of it.
    ///
    /// A world-wide name that only one of them reports does not count: bridges hide it. Neither does the drive's own
    /// serial number: only a claim queries it.
    pub fn compare(&self, other: &Self) -> Sameness {
        fn both_known(own: &Option<String>, others: &Option<String>) -> bool {
            own.is_some() && others.is_some()
        }
        let value = |what, own: &Option<String>, others: &Option<String>| {
            let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "none".to_string());
            let difference = Difference::Value { what, own: text(own), other: text(others) };
            (own != others).then(|| (difference, both_known(own, others)))
        };
        let known_to_both = |what, own, others| value(what, own, others).filter(|(_, both)| *both);
        let size = |id: &Self| Some(id.disk_bytes.to_string());
        let found: Vec<(Difference, bool)> = [
            value("serial number", &self.serial, &other.serial),
            known_to_both("own serial number", &self.own_serial, &other.own_serial),
            value("model", &self.model, &other.model),
            value("size", &size(self), &size(other)),
            known_to_both("world-wide name", &self.wwn, &other.wwn),
            self.unnamed_place_difference(other),
        ]
        .into_iter()
        .flatten()
        .collect();
        let is_certain = found.iter().any(|(_, is_certain)| *is_certain);
        match found.into_iter().next() {
            Some((difference, _)) if is_certain => Sameness::Different(difference),
            Some((difference, _)) => Sameness::Unknown(difference),
            None if self.wwn.is_some() && self.wwn == other.wwn => Sameness::Sure(MatchedBy::Wwn),
            None if self.file.is_some() && self.file == other.file => {
                Sameness::Sure(MatchedBy::File)
            }
            None if both_known(&self.own_serial, &other.own_serial) => {
                Sameness::Sure(MatchedBy::OwnSerial)
            }
            None if self.serial.is_some() => Sameness::Likely(MatchedBy::Serial),
            None => Sameness::Likely(MatchedBy::Place),
        }
    }

    /// In which way `other` is in another place, where that is all they can be known by; and whether that is certain.
    fn unnamed_place_difference(&self, other: &Self) -> Option<(Difference, bool)> {
        let is_unnamed = self.serial.is_none() && (self.wwn.is_none() || other.wwn.is_none());
        let difference = is_unnamed.then(|| self.place_difference(other)).flatten()?;
        let may_be_there = match self.file.as_ref().zip(other.file.as_ref()) {
            Some((own, others)) => {
                own.may_be_same_file(others) && own.offset_bytes == others.offset_bytes
            }
            None => self.is_in_place_of(other),
        };
        Some((difference, !self.is_named() && !other.is_named() && !may_be_there))
    }

    /// In which way `other` is in another place: the file of a loop device counts more than its name.
    fn place_difference(&self, other: &Self) -> Option<Difference> {
        let has_same_name = self.is_in_place_of(other);
        let elsewhere = Difference::Value {
            what: "place",
            own: self.place.clone(),
            other: other.place.clone(),
        };
        let taken = |why: &str| Difference::TakenPlace(format!("its {} {why}", self.place));
        let Some((own, others)) = self.file.as_ref().zip(other.file.as_ref()) else {
            if !has_same_name {
                return Some(elsewhere);
            }
            let attachments = self.attachment.as_ref().zip(other.attachment.as_ref());
            let is_other = attachments.is_some_and(|(own, others)| own != others);
            return is_other.then(|| taken("is another device that has taken that number"));
        };
        let is_same = own.is_same_file(others, has_same_name);
        if is_same && own.offset_bytes == others.offset_bytes {
            None
        } else if !has_same_name {
            Some(elsewhere)
        } else if own.may_be_same_file(others) {
            let why = "lies on another device now (if its file system was only attached anew, restart this machine)";
            Some(taken(why))
        } else {
            Some(taken("is another file that has taken that name"))
        }
    }
}
