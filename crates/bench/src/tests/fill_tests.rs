//! Where `fill` writes.

use super::*;
