//! Which engine: io_uring where it starts, threads elsewhere.

use crate::queue::uring;
use drivescope_model::plan::Engine;

/// What the probe found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EngineChoice {
    /// The engine to use.
    pub engine: Engine,
    /// Why not the better one, if so.
    pub reason: Option<String>,
}

/// The best engine of this machine, or the asked one; fails with a reason if that cannot work.
pub fn choose(asked: Option<Engine>) -> Result<EngineChoice, String> {
    match asked {
        Some(Engine::Threads) => Ok(EngineChoice { engine: Engine::Threads, reason: None }),
        Some(Engine::Uring) => match uring::refusal() {
            None => Ok(EngineChoice { engine: Engine::Uring, reason: None }),
            Some(reason) => Err(format!("{reason}; use --engine threads")),
        },
        Some(Engine::Sim) => Err("the sim engine is for sim: targets only".to_string()),
        None => Ok(match uring::refusal() {
            None => EngineChoice { engine: Engine::Uring, reason: None },
            reason => EngineChoice { engine: Engine::Threads, reason },
        }),
    }
}
