//! A connection to SQL Server, one statement at a time on the calling thread.

use super::{KIND, failed};
use crate::SqlError;
use crate::canceller::{Canceller, Registration};
use std::sync::Arc;
use std::time::Duration;
use tiberius::{Client, Config, Row, ToSql};
use tokio::net::TcpStream;
use tokio::runtime::{Builder, Runtime};
use tokio::sync::Notify;
use tokio_util::compat::{Compat, TokioAsyncWriteCompatExt};

const CONNECT_TIME_MAX: Duration = Duration::from_secs(15);

type TdsClient = Client<Compat<TcpStream>>;

/// A cancelled run leaves it in the middle of an answer: closed, not used again, it ends its statement.
pub(super) struct MssqlConnection {
    client: TdsClient,
    runtime: Runtime,
    cancelled: Arc<Notify>,
    _cancel: Option<Registration>,
}

impl MssqlConnection {
    /// Without a canceller it is used even when the run is cancelled, to clean up.
    pub fn open(config: &Config, canceller: Option<&Arc<Canceller>>) -> Result<Self, SqlError> {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(|error| SqlError::of_end(KIND, error.to_string()))?;
        let connecting = async {
            let stream = TcpStream::connect(config.get_addr()).await?;
            stream.set_nodelay(true)?;
            Client::connect(config.clone(), stream.compat_write()).await
        };
        let client = runtime.block_on(async {
            match tokio::time::timeout(CONNECT_TIME_MAX, connecting).await {
                Ok(connected) => connected.map_err(failed),
                Err(_) => Err(SqlError::of_end(KIND, "it does not answer".to_string())),
            }
        })?;
        let cancelled = Arc::new(Notify::new());
        let hook = Arc::clone(&cancelled);
        // A permit is kept for the next wait.
        let cancel = canceller.map(|canceller| canceller.on_cancel(move || hook.notify_one()));
        Ok(Self { client, runtime, cancelled, _cancel: cancel })
    }

    /// Waits for an answer, or for the end of the run.
    fn wait<T>(
        &mut self,
        question: impl AsyncFnOnce(&mut TdsClient) -> tiberius::Result<T>,
    ) -> Result<T, SqlError> {
        let Self { client, runtime, cancelled, .. } = self;
        runtime.block_on(async {
            tokio::select! {
                biased;
                () = cancelled.notified() => Err(SqlError::Interrupted),
                answer = question(client) => answer.map_err(failed),
            }
        })
    }

    /// A batch of statements without parameters, as text, and the rows of the first that has some.
    pub fn batch(&mut self, text: &str) -> Result<Vec<Row>, SqlError> {
        self.wait(async |client| {
            let results = client.simple_query(text).await?.into_results().await?;
            Ok(results.into_iter().next().unwrap_or_default())
        })
    }

    pub fn number(&mut self, text: &str) -> Result<i64, SqlError> {
        let rows = self.batch(text)?;
        let row = rows.first().ok_or_else(|| SqlError::of_statement(KIND, "it has no row"))?;
        match row.try_get::<i64, _>(0) {
            Ok(number) => Ok(number.unwrap_or(0)),
            // A value that is not larger comes in this type.
            Err(_) => Ok(row.try_get::<i32, _>(0).map_err(failed)?.unwrap_or(0).into()),
        }
    }

    pub fn text(&mut self, text: &str) -> Result<Option<String>, SqlError> {
        let rows = self.batch(text)?;
        let Some(row) = rows.first() else { return Ok(None) };
        Ok(row.try_get::<&str, _>(0).map_err(failed)?.map(str::to_string))
    }

    /// A statement with parameters, `@P1` and on: its rows. The server keeps its plan.
    pub fn rows(&mut self, text: &str, values: &[&dyn ToSql]) -> Result<Vec<Row>, SqlError> {
        self.wait(async |client| client.query(text, values).await?.into_first_result().await)
    }

    /// A statement with parameters that has no rows.
    pub fn execute(&mut self, text: &str, values: &[&dyn ToSql]) -> Result<(), SqlError> {
        self.wait(async |client| client.execute(text, values).await.map(|_| ()))
    }
}
