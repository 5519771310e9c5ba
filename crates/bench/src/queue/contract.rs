//! One contract that every engine keeps, on a real file.
