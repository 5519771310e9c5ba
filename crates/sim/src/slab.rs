//! Numbered places that are used again: work in progress, found by a small number.

/// Values by number; numbers of removed values are given out again.
#[derive(Debug, Clone)]
pub(crate) struct Slab<T> {
    values: Vec<Option<T>>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), free: Vec::new() }
    }

    pub(crate) fn insert(&mut self, value: T) -> u32 {
        if let Some(number) = self.free.pop() {
            self.values[number as usize] = Some(value);
            return number;
        }
        self.values.push(Some(value));
        u32::try_from(self.values.len() - 1).expect("fewer than 2^32 things under way")
    }

    pub(crate) fn get(&self, number: u32) -> &T {
        self.values[number as usize].as_ref().expect("the number is in use")
    }

    pub(crate) fn get_mut(&mut self, number: u32) -> &mut T {
        self.values[number as usize].as_mut().expect("the number is in use")
    }

    pub(crate) fn remove(&mut self, number: u32) -> T {
        self.free.push(number);
        self.values[number as usize].take().expect("the number is in use")
    }

    /// All values, in order of their numbers. Free places are passed by only on the way to the last value: behind a
    /// hundred thousand that once were under way, none costs nothing.
    pub(crate) fn values_mut(&mut self) -> impl Iterator<Item = &mut T> {
        let count = self.len();
        self.values.iter_mut().flatten().take(count)
    }

    pub(crate) fn len(&self) -> usize {
        self.values.len() - self.free.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_used_again() {
        let mut slots = Slab::new();
        let (a, b) = (slots.insert('a'), slots.insert('b'));
        assert_eq!(slots.remove(a), 'a');
        let c = slots.insert('c');
        assert_eq!((c, slots.len()), (a, 2));
        *slots.get_mut(b) = 'd';
        assert_eq!((*slots.get(b), *slots.get(c)), ('d', 'c'));
    }
}
