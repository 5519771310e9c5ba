//! Chooses drives by an expression.
