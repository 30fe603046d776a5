//! A deployment on this machine: a process for each node.
//!
//! Nobody outlives whoever deploys. A process ends when its standard input does, which is a pipe that
//! only the deployer holds; so it ends even if the deployer is killed. Processes are in a group of
//! their own, so that Ctrl-C reaches the deployer alone, which then ends them in good order.

use crate::error::cannot;
use crate::process::{ready, tell};
use crate::{Controls, Error, Key, coin};
use std::net::SocketAddr;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::process::{Child, Command};

/// How long a process may take to say that it is ready, and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// How the process of a node is made: its number, and where it shall listen if it listened before.
pub(crate) type Make =
    Box<dyn Fn(usize, Option<(SocketAddr, SocketAddr)>) -> std::process::Command + Send + Sync>;

/// Processes that are the nodes of a system.
///
/// ```no_run
/// use allways_live::Deployment;
/// use std::process::Command;
/// # async fn of() -> Result<(), allways_live::Error> {
/// // A program that calls `allways_live::serve`.
/// let deployment = Deployment::start(3, None, |node, listen| {
///     let mut command = Command::new("my-node");
///     command.arg(node.to_string());
///     if let Some((messages, control)) = listen {
///         command.args([messages.to_string(), control.to_string()]);
///     }
///     command
/// })
/// .await?;
/// deployment.stop().await;
/// # Ok(())
/// # }
/// ```
pub struct Deployment {
    make: Make,
    number: u64,
    key: Option<Key>,
    nodes: Vec<Process>,
}

struct Process {
    /// Nothing while it is down.
    child: Option<Child>,
    messages: SocketAddr,
    control: SocketAddr,
}

impl Deployment {
    /// Starts the nodes: `make` says how a process is started, given the number of the node and,
    /// when it starts again, where it shall listen.
    ///
    /// ```no_run
    /// # use allways_live::Deployment;
    /// # use std::process::Command;
    /// # async fn of() -> Result<(), allways_live::Error> {
    /// let deployment = Deployment::start(3, None, |_, _| Command::new("my-node")).await?;
    /// # let _ = deployment;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If a process cannot be started, or does not say that it is ready.
    pub async fn start(
        nodes: usize,
        key: Option<Key>,
        make: impl Fn(usize, Option<(SocketAddr, SocketAddr)>) -> std::process::Command
        + Send
        + Sync
        + 'static,
    ) -> Result<Self, Error> {
        let make: Make = Box::new(make);
        let mut started = Vec::new();
        for node in 0..nodes {
            let (child, messages, control) = spawn(&make, node, None).await?;
            started.push(Process { child: Some(child), messages, control });
        }
        let number = coin::fresh();
        let mut deployment = Deployment { make, number, key, nodes: started };
        for node in 0..nodes {
            deployment.tell(node).await?;
        }
        // Nothing is deployed before everybody runs.
        let mut controls = deployment.controls();
        let start = tokio::time::Instant::now();
        while let Err(error) = controls.statistics().await {
            deployment.all_run()?;
            if start.elapsed() > PATIENCE {
                return Err(error);
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(deployment)
    }

    /// Tells a process where all are.
    async fn tell(&mut self, node: usize) -> Result<(), Error> {
        let addresses: Vec<SocketAddr> = self.nodes.iter().map(|node| node.messages).collect();
        let line = tell(self.number, &addresses);
        let input = self.nodes[node].child.as_mut().and_then(|child| child.stdin.as_mut());
        let Some(input) = input else { return Ok(()) };
        input.write_all(line.as_bytes()).await.map_err(cannot(format!("start node {node}")))
    }

    /// Where the nodes are controlled, in the order of their numbers.
    ///
    /// ```no_run
    /// # fn of(deployment: allways_live::Deployment) {
    /// println!("{:?}", deployment.addresses());
    /// # }
    /// ```
    pub fn addresses(&self) -> Vec<SocketAddr> {
        self.nodes.iter().map(|node| node.control).collect()
    }

    /// Connections to control the nodes, made when they are needed.
    ///
    /// ```no_run
    /// # async fn of(deployment: allways_live::Deployment) -> Result<(), allways_live::Error> {
    /// let snapshot = deployment.controls().snapshot().await?;
    /// # let _ = snapshot;
    /// # Ok(())
    /// # }
    /// ```
    pub fn controls(&self) -> Controls {
        Controls::later(&self.addresses(), self.key.clone())
    }

    /// Kills a node, without any chance to end in good order (SIGKILL).
    ///
    /// ```no_run
    /// # async fn of(mut deployment: allways_live::Deployment) -> Result<(), allways_live::Error> {
    /// deployment.kill(1).await?;
    /// deployment.restart(1).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If the process cannot be killed.
    pub async fn kill(&mut self, node: usize) -> Result<(), Error> {
        match self.nodes[node].child.take() {
            Some(mut child) => child.kill().await.map_err(cannot(format!("kill node {node}"))),
            None => Ok(()),
        }
    }

    /// That no process has ended by itself.
    ///
    /// ```no_run
    /// # fn of(mut deployment: allways_live::Deployment) {
    /// assert!(deployment.all_run().is_ok());
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If one has: its handler panicked, or its disk failed. Its log says more.
    pub fn all_run(&mut self) -> Result<(), Error> {
        for (node, process) in self.nodes.iter_mut().enumerate() {
            if let Some(child) = &mut process.child
                && let Ok(Some(status)) = child.try_wait()
            {
                return Err(Error::new(format!("node {node} ended by itself ({status})")));
            }
        }
        Ok(())
    }

    /// Starts a node again that was killed, where it was.
    ///
    /// ```no_run
    /// # async fn of(mut deployment: allways_live::Deployment) -> Result<(), allways_live::Error> {
    /// deployment.kill(1).await?;
    /// deployment.restart(1).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// If it cannot be started.
    pub async fn restart(&mut self, node: usize) -> Result<(), Error> {
        let process = &self.nodes[node];
        let listen = Some((process.messages, process.control));
        let (child, ..) = spawn(&self.make, node, listen).await?;
        self.nodes[node].child = Some(child);
        self.tell(node).await
    }

    /// Ends all nodes: in good order, and if that takes too long, at once.
    ///
    /// ```no_run
    /// # async fn of(deployment: allways_live::Deployment) {
    /// deployment.stop().await;
    /// # }
    /// ```
    pub async fn stop(mut self) {
        for process in &mut self.nodes {
            // The end of its input is the end of a node.
            if let Some(child) = &mut process.child {
                drop(child.stdin.take());
            }
        }
        for (node, process) in self.nodes.iter_mut().enumerate() {
            let Some(mut child) = process.child.take() else { continue };
            match tokio::time::timeout(PATIENCE, child.wait()).await {
                Ok(Ok(status)) if status.success() => {}
                Ok(ended) => tracing::warn!(node, ?ended, "the node did not end in good order"),
                Err(_) => {
                    tracing::warn!(node, "the node did not end in time");
                    let _ = child.kill().await;
                }
            }
        }
    }
}

async fn spawn(
    make: &Make,
    node: usize,
    listen: Option<(SocketAddr, SocketAddr)>,
) -> Result<(Child, SocketAddr, SocketAddr), Error> {
    let start = || format!("start node {node}");
    let mut command = make(node, listen);
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    let mut command = Command::from(command);
    let mut child = command.kill_on_drop(true).spawn().map_err(cannot(start()))?;
    let Some(out) = child.stdout.take() else {
        return Err(Error::new(format!("cannot {}: it has no output", start())));
    };
    let mut line = String::new();
    let mut out = BufReader::new(out);
    let said = tokio::time::timeout(PATIENCE, out.read_line(&mut line)).await;
    said.map_err(cannot(start()))?.map_err(cannot(start()))?;
    let (messages, control) = ready(&line).ok_or_else(|| {
        Error::new(format!(
            "cannot {}: it ended or said something else: `{}`",
            start(),
            line.trim()
        ))
    })?;
    Ok((child, messages, control))
}
