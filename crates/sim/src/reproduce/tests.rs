//! Published cells and models.
