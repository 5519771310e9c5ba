//! What is submitted.
