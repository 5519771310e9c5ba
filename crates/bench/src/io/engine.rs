//! Which engine: io_uring where it starts, threads elsewhere; and of both, the faster one for each phase.

use crate::io::queue::uring;
use drivescope_model::cell::{Mix, Shape};
use drivescope_model::plan::Engine;

/// Larger writes: making their data takes longer than io_uring costs, and overlaps the write before.
const MADE_AT_ONCE_BYTES: u64 = 16 << 10;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineChoice {
    pub engine: Engine,
    /// Why a better engine cannot be used.
    pub reason: Option<String>,
}

/// The asked engine, or the best that works here. Errors: why the asked one cannot work.
pub fn choose(asked: Option<Engine>) -> Result<EngineChoice, String> {
    match asked {
        Some(Engine::Threads) => Ok(EngineChoice { engine: Engine::Threads, reason: None }),
        Some(Engine::Uring) => match uring::refusal() {
            None => Ok(EngineChoice { engine: Engine::Uring, reason: None }),
            Some(reason) => Err(format!("{reason}; use --engine threads")),
        },
        Some(Engine::Sim) => Err("the sim engine is for sim: targets only".to_string()),
        Some(Engine::Auto) | None => Ok(match uring::refusal() {
            None => EngineChoice { engine: Engine::Auto, reason: None },
            reason => EngineChoice { engine: Engine::Threads, reason },
        }),
    }
}

pub fn of_depth(depth: u32) -> Engine {
    if depth == 1 { Engine::Threads } else { Engine::Uring }
}

pub fn of_cell(shape: Shape, mix: Mix) -> Engine {
    let makes_much = mix.writes() && shape.block.0 > MADE_AT_ONCE_BYTES;
    if makes_much { Engine::Uring } else { of_depth(shape.depth) }
}
