//! Finds the least recently used of some numbered things: a ring of neighbours in order of use, so that neither a use
//! nor the question needs a search.

/// The order of use of the things `0..count`. A thing may stand outside the order.
#[derive(Debug, Clone)]
pub struct LruOrder {
    /// Neighbours of each thing; after the last thing stands the ring's seam, whose neighbours are the
    /// newest and the oldest. A thing outside the ring is its own neighbour.
    ring: Vec<Neighbours>,
}

#[derive(Debug, Clone, Copy)]
struct Neighbours {
    older: usize,
    newer: usize,
}

impl LruOrder {
    /// All of `0..count`, the lowest number used longest ago.
    pub fn new(count: usize) -> Self {
        let places = count + 1;
        let neighbours = |k| Neighbours { older: (k + count) % places, newer: (k + 1) % places };
        Self { ring: (0..places).map(neighbours).collect() }
    }

    #[inline]
    pub fn touch(&mut self, thing: usize) {
        self.leave(thing);
        let seam = self.seam();
        let newest = self.ring[seam].older;
        self.ring[thing] = Neighbours { older: newest, newer: seam };
        self.ring[newest].newer = thing;
        self.ring[seam].older = thing;
    }

    /// Takes `thing` out of the order, until it is touched.
    #[inline]
    pub fn leave(&mut self, thing: usize) {
        let Neighbours { older, newer } = self.ring[thing];
        self.ring[older].newer = newer;
        self.ring[newer].older = older;
        self.ring[thing] = Neighbours { older: thing, newer: thing };
    }

    #[inline]
    pub fn oldest(&self) -> Option<usize> {
        let oldest = self.ring[self.seam()].newer;
        (oldest != self.seam()).then_some(oldest)
    }

    pub fn oldest_but(&self, thing: usize) -> Option<usize> {
        let oldest = self.oldest()?;
        let next = if oldest == thing { self.ring[oldest].newer } else { oldest };
        (next != self.seam()).then_some(next)
    }

    fn seam(&self) -> usize {
        self.ring.len() - 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn it_agrees_with_a_list(steps in proptest::collection::vec((any::<bool>(), 0usize..5), 1..60)) {
            let mut ring = LruOrder::new(5);
            let mut list = vec![0, 1, 2, 3, 4];
            for (touch, thing) in steps {
                list.retain(|&other| other != thing);
                if touch {
                    list.push(thing);
                    ring.touch(thing);
                } else {
                    ring.leave(thing);
                }
                prop_assert_eq!(ring.oldest(), list.first().copied());
                for but in 0..5 {
                    prop_assert_eq!(ring.oldest_but(but), list.iter().copied().find(|&k| k != but));
                }
            }
        }
    }

    #[test]
    fn nothing_has_no_oldest() {
        assert_eq!(LruOrder::new(0).oldest(), None);
    }
}
