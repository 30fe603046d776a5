//! A node as a process of its own: started by whoever deploys, ended with it.
//!
//! The process says on standard output where it listens: `ready MESSAGES CONTROL`. Then it is told on
//! standard input where all are: `start DEPLOYMENT ADDRESS ADDRESS …`. When standard input ends, so
//! does the node: whoever started it has ended, for whatever reason.

use crate::error::cannot;
use crate::{Error, Live, LiveNode};
use std::io::{BufRead, Write};
use std::net::SocketAddr;
use tokio::sync::mpsc;

/// Runs a node as this process until it is stopped, or standard input ends.
///
/// ```no_run
/// # use allways_live::{Live, sample::Account};
/// # use allways::Id;
/// # async fn of() -> Result<(), allways_live::Error> {
/// allways_live::serve(Live::new(Id::new(0), Account(100))).await?;
/// # Ok(())
/// # }
/// ```
///
/// # Errors
///
/// If it cannot be started, or fails.
pub async fn serve<N: LiveNode>(live: Live<N>) -> Result<(), Error> {
    let bound = live.bind().await?;
    let ready = format!("ready {} {}\n", bound.address(), bound.control_address());
    let mut out = std::io::stdout();
    out.write_all(ready.as_bytes())
        .and_then(|()| out.flush())
        .map_err(cannot("say where the node listens"))?;
    let mut lines = lines();
    let Some(line) = lines.recv().await else { return Ok(()) };
    let (deployment, addresses) = told(&line)
        .ok_or_else(|| Error::new(format!("the node was told `{line}`, which makes no sense")))?;
    let running = bound.start(deployment, addresses).await?;
    let stopper = running.stopper();
    let ended = running.ended();
    tokio::pin!(ended);
    loop {
        tokio::select! {
            result = &mut ended => return result.map(drop),
            line = lines.recv() => if line.is_none() {
                stopper.stop().await;
                return ended.await.map(drop);
            },
        }
    }
}

/// The lines of standard input, read by a thread: nothing else can wait for them and be left.
fn lines() -> mpsc::Receiver<String> {
    let (sender, lines) = mpsc::channel(1);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines().map_while(Result::ok) {
            if sender.blocking_send(line).is_err() {
                return;
            }
        }
    });
    lines
}

/// What a node is told to start it.
pub(crate) fn tell(deployment: u64, addresses: &[SocketAddr]) -> String {
    let addresses: Vec<String> = addresses.iter().map(SocketAddr::to_string).collect();
    format!("start {deployment} {}\n", addresses.join(" "))
}

fn told(line: &str) -> Option<(u64, Vec<SocketAddr>)> {
    let mut words = line.strip_prefix("start ")?.split_whitespace();
    let deployment = words.next()?.parse().ok()?;
    let addresses = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    Some((deployment, addresses))
}

/// What a node says when it is ready: where it takes messages, and where it is controlled.
pub(crate) fn ready(line: &str) -> Option<(SocketAddr, SocketAddr)> {
    let (messages, control) = line.trim_end().strip_prefix("ready ")?.split_once(' ')?;
    Some((messages.parse().ok()?, control.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_told_is_understood() {
        let addresses = vec!["127.0.0.1:1".parse().unwrap(), "[::1]:2".parse().unwrap()];
        let line = tell(7, &addresses);
        assert_eq!(told(line.trim_end()), Some((7, addresses)));
        assert_eq!(told("start seven"), None);
        let (a, b) = ready("ready 127.0.0.1:1 127.0.0.1:2\n").unwrap();
        assert_eq!((a.port(), b.port()), (1, 2));
        assert_eq!(ready("ready"), None);
    }
}
