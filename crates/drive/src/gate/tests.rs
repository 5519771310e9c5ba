//! The gate over machines that are not here.
//!
//! A machine is a tree of `/sys` and `/proc` files, and a kernel that answers as its author wants: who
//! has the exclusive claim, what descriptors report, where a path leads. The bytes of a disk are a file.

mod claim;
mod contents;
mod exports;
mod flush;
mod give_back;
mod kinds;
mod machine;
mod names;
mod originals;
mod pools;
mod real;
mod system;
mod targets;
mod use_table;
mod uses;
