//! Closed-form checks of the whole drive.
