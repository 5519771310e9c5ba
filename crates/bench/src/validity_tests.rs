//! Each finding on a round whose truth is known.

use super::*;
