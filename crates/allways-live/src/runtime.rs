//! One node for real: [`Live`] says how, [`Bound`] has its sockets, [`Running`] runs.
//!
//! A single task owns the node: see [`crate::task`].
//!
//! A handler that panics ends the node, with nothing of its last batch sent or written: as a crash
//! does in a check.

use crate::coin::{self, Coin};
use crate::colour::Colours;
use crate::control::{self, Asked, Reply, Request};
use crate::deployable::Place;
use crate::disk::Disk;
use crate::error::cannot;
use crate::task::{SLACK, Task};
use crate::timers::Timers;
use crate::transport::{Ends, InOrder, Listening, Protocol, Transport};
use crate::wire::Key;
use crate::{Error, LiveNode, Statistics};
use allways::{Id, Input};
use std::collections::VecDeque;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinHandle;

/// So many requests wait for the node.
const WAITING: usize = 64;
/// A timer fires after this, unless the deployment says otherwise.
const DEFAULT_TIMER: Duration = Duration::from_millis(100);

/// How long after it is set a timer fires.
pub(crate) type After<T> = Box<dyn Fn(&T) -> Duration + Send + Sync>;
/// Who is told outputs.
pub(crate) type Hear<T> = Box<dyn FnMut(&T) + Send>;

/// How a node is to run.
///
/// ```
/// use allways::{Cx, Id, Never, Node};
/// use allways_live::Live;
/// use serde::{Deserialize, Serialize};
///
/// /// Keeps the largest number that it has heard of, and passes it on.
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
/// struct Largest(u32);
///
/// impl Node for Largest {
///     type Msg = u32;
///     type Timer = Never;
///     type Call = u32;
///     type Output = u32;
///
///     fn on_call(&mut self, number: u32, cx: &mut Cx<'_, Self>) {
///         self.on_message(cx.id(), number, cx);
///     }
///
///     fn on_message(&mut self, _: Id, number: u32, cx: &mut Cx<'_, Self>) {
///         if number > self.0 {
///             self.0 = number;
///             cx.broadcast(number);
///             cx.output(number);
///         }
///     }
/// }
///
/// # fn main() -> Result<(), allways_live::Error> {
/// let runtime = tokio::runtime::Runtime::new().unwrap();
/// runtime.block_on(async {
///     // Ports are chosen by the operating system.
///     let (told, mut hear) = tokio::sync::mpsc::unbounded_channel();
///     let a = Live::new(Id::new(0), Largest(0)).bind().await?;
///     let b = Live::new(Id::new(1), Largest(0));
///     let b = b.outputs(move |number| told.send(*number).unwrap()).bind().await?;
///     let addresses = vec![a.address(), b.address()];
///     let (a, b) = (a.start(1, addresses.clone()).await?, b.start(1, addresses).await?);
///     a.call(7).await?;
///     assert_eq!(hear.recv().await, Some(7));
///     assert_eq!(b.stop().await?, Largest(7));
///     a.stop().await?;
///     Ok(())
/// })
/// # }
/// ```
pub struct Live<N: LiveNode> {
    id: Id,
    node: N,
    protocol: Protocol,
    listen: SocketAddr,
    control: SocketAddr,
    directory: Option<PathBuf>,
    label: String,
    key: Option<Key>,
    drop: f64,
    seed: Option<u64>,
    timers: After<N::Timer>,
    outputs: Hear<N::Output>,
}

impl<N: LiveNode> Live<N> {
    /// This node, with this number among all nodes: over UDP, on ports of the loopback interface
    /// that the operating system chooses, without a disk.
    ///
    /// ```
    /// # use allways_live::sample::Account;
    /// use allways::Id;
    /// let live = allways_live::Live::new(Id::new(0), Account(100));
    /// # let _ = live;
    /// ```
    pub fn new(id: Id, node: N) -> Self {
        let anywhere = SocketAddr::from(([127, 0, 0, 1], 0));
        Live {
            id,
            node,
            protocol: Protocol::default(),
            listen: anywhere,
            control: anywhere,
            directory: None,
            label: String::new(),
            key: None,
            drop: 0.0,
            seed: None,
            timers: Box::new(|_| DEFAULT_TIMER),
            outputs: Box::new(|output| tracing::info!(?output, "output")),
        }
    }

    /// What carries messages.
    ///
    /// ```
    /// # use allways_live::sample::Account;
    /// # use allways::Id;
    /// use allways_live::{Live, Protocol};
    /// let live = Live::new(Id::new(0), Account(100)).protocol(Protocol::Tcp);
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn protocol(mut self, protocol: Protocol) -> Self {
        self.protocol = protocol;
        self
    }

    /// Where to listen for messages and, on a port of its own, for control.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let live = Live::new(Id::new(0), Account(100))
    ///     .listen("127.0.0.1:7000".parse().unwrap(), "127.0.0.1:7001".parse().unwrap());
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn listen(mut self, messages: SocketAddr, control: SocketAddr) -> Self {
        self.listen = messages;
        self.control = control;
        self
    }

    /// Where what the node persists is kept: what [`Node::persisted`](allways::Node::persisted)
    /// returns is on disk before anything is sent that was said with it. A node that finds a state
    /// there restarts with it. Without a directory, nothing is kept.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let live = Live::new(Id::new(0), Account(100)).directory("/var/lib/bank/0");
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn directory(mut self, directory: impl Into<PathBuf>) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// What the node is and how it is configured, in words. A directory with the state of a node with another label is
    /// refused, and whoever attaches is told: see [`Controls::labels`](crate::Controls::labels).
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let live = Live::new(Id::new(0), Account(100)).label("accounts, currency=EUR");
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn label(mut self, label: impl Into<String>) -> Self {
        self.label = label.into();
        self
    }

    /// The key that messages and control are authenticated with; without one, everybody is believed.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let key = allways_live::Key::new(&[7; 32]).unwrap();
    /// let live = Live::new(Id::new(0), Account(100)).key(key);
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn key(mut self, key: Key) -> Self {
        self.key = Some(key);
        self
    }

    /// Drops messages to other nodes with this probability, before they reach the network: to see
    /// how the system bears it.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let live = Live::new(Id::new(0), Account(100)).drop(0.3);
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn drop(mut self, probability: f64) -> Self {
        self.drop = probability;
        self
    }

    /// What the coins of the node depend on: what it chooses, and what is dropped.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let live = Live::new(Id::new(0), Account(100)).drop(0.3).seed(7);
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// How long after it is set a timer fires; otherwise a tenth of a second.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// use std::time::Duration;
    /// let live = Live::new(Id::new(0), Account(100)).timers(|_| Duration::from_secs(1));
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn timers(mut self, after: impl Fn(&N::Timer) -> Duration + Send + Sync + 'static) -> Self {
        self.timers = Box::new(after);
        self
    }

    /// Who is told what the node outputs; otherwise it is logged. Must not wait.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// let live = Live::new(Id::new(0), Account(100)).outputs(|output| println!("{output:?}"));
    /// # let _ = live;
    /// ```
    #[must_use]
    pub fn outputs(mut self, hear: impl FnMut(&N::Output) + Send + 'static) -> Self {
        self.outputs = Box::new(hear);
        self
    }

    /// All of this at once.
    pub(crate) fn placed(mut self, place: Place) -> Self {
        let Place { listen, protocol, directory, label, key, drop, seed } = place;
        if let Some((messages, control)) = listen {
            self = self.listen(messages, control);
        }
        Live { protocol, directory, label, key, drop, seed, ..self }
    }

    /// Opens the sockets. Nothing runs yet, but what comes in waits.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// assert_ne!(bound.address().port(), 0);
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// If an address cannot be listened on, or messages are to be dropped with what is no probability.
    pub async fn bind(self) -> Result<Bound<N>, Error> {
        if !(0.0..=1.0).contains(&self.drop) {
            let drop = self.drop;
            return Err(Error::new(format!("{drop} is no probability to drop messages with")));
        }
        let listening = Listening::bind(self.protocol, self.listen).await?;
        let address = listening.address()?;
        let listen = || format!("listen on {}", self.control);
        let control = TcpListener::bind(self.control).await.map_err(cannot(listen()))?;
        let control_address = control.local_addr().map_err(cannot("tell where it listens"))?;
        Ok(Bound { live: self, listening, address, control, control_address })
    }
}

/// A node with its sockets, before it runs.
///
/// ```
/// # use allways_live::{Live, sample::Account};
/// # use allways::Id;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
/// assert_ne!(bound.address(), bound.control_address());
/// # });
/// ```
pub struct Bound<N: LiveNode> {
    live: Live<N>,
    listening: Listening,
    address: SocketAddr,
    control: TcpListener,
    control_address: SocketAddr,
}

impl<N: LiveNode> Bound<N> {
    /// Where messages are taken.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// assert!(bound.address().ip().is_loopback());
    /// # });
    /// ```
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the node is controlled.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// assert!(bound.control_address().ip().is_loopback());
    /// # });
    /// ```
    pub fn control_address(&self) -> SocketAddr {
        self.control_address
    }

    /// Starts the node, in a deployment of this number (messages of others are refused) with the
    /// nodes at these addresses.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// let addresses = vec![bound.address()];
    /// let running = bound.start(1, addresses).await.unwrap();
    /// assert_eq!(running.stop().await.unwrap(), Account(100));
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// If the node is not among the addresses, or its directory cannot be used or is damaged.
    pub async fn start(self, deployment: u64, nodes: Vec<SocketAddr>) -> Result<Running<N>, Error> {
        let Live { id, node, protocol, directory, label, key, drop, seed, timers, outputs, .. } =
            self.live;
        if id.index() >= nodes.len() {
            let count = nodes.len();
            return Err(Error::new(format!("there is no node {id} among {count} nodes")));
        }
        let disk = directory.map(|directory| Disk::open(&directory, &label)).transpose()?;
        let found = disk.as_ref().map(Disk::read).transpose()?.flatten();
        let mut last = 0;
        let (node, first) = match (&disk, &found) {
            (Some(disk), Some(bytes)) => {
                let (incarnation, kept): (u64, Option<N>) =
                    postcard::from_bytes(bytes).map_err(|_| disk.damaged())?;
                last = incarnation;
                (kept.unwrap_or(node), Input::Restart)
            }
            _ => (node, Input::Start),
        };
        // Clocks may go back; incarnations must not, or peers would take what is new for old.
        let incarnation = coin::now().max(last.saturating_add(1));
        let seed = seed.map_or_else(coin::fresh, |seed| seed ^ ((id.index() as u64 + 1) << 32));
        let count = nodes.len();
        let ends = Ends { me: id, deployment, incarnation, peers: nodes, key: key.clone() };
        let (calls_sender, calls) = mpsc::channel(WAITING);
        let (others_sender, others) = mpsc::channel(WAITING);
        let served =
            control::serve(self.control, key.clone(), calls_sender.clone(), others_sender.clone());
        let server = tokio::spawn(served);
        let task = Task {
            id,
            label: protocol.labelled(&label),
            nodes: count,
            node,
            deployment,
            incarnation,
            transport: Transport::new(self.listening, ends),
            key,
            pending: Vec::new(),
            timers: Timers::new(),
            after: timers,
            loopback: VecDeque::new(),
            outbox: Vec::new(),
            outputs: Vec::new(),
            hear: outputs,
            replies: Vec::new(),
            sequences: vec![0; count],
            room: SLACK,
            in_order: InOrder::new(count),
            colours: Colours::default(),
            coin: Coin::new(seed),
            drop,
            disk,
            written: found,
            counts: Statistics::default(),
        };
        tracing::info!(node = id.index(), address = %self.address, control = %self.control_address,
            restart = matches!(first, Input::Restart), "the node starts");
        let task = tokio::spawn(task.run(first, calls, others));
        Ok(Running { task, server, calls: calls_sender, others: others_sender })
    }
}

/// A node that runs. Dropping this lets it run on; see [`Running::stop`].
///
/// ```
/// # use allways_live::{Live, sample::Account};
/// # use allways::Id;
/// # tokio::runtime::Runtime::new().unwrap().block_on(async {
/// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
/// let addresses = vec![bound.address()];
/// let running = bound.start(1, addresses).await.unwrap();
/// assert_eq!(running.statistics().await.unwrap().handled, 0);
/// # });
/// ```
pub struct Running<N: LiveNode> {
    task: JoinHandle<Result<N, Error>>,
    server: JoinHandle<()>,
    calls: mpsc::Sender<Asked>,
    others: mpsc::Sender<Asked>,
}

impl<N: LiveNode> Running<N> {
    async fn ask(queue: &mpsc::Sender<Asked>, request: Request) -> Result<Reply, Error> {
        let gone = || Error::new("the node does not run any more");
        let (place, reply) = oneshot::channel();
        queue.send((request, place)).await.map_err(|_| gone())?;
        match reply.await.map_err(|_| gone())? {
            Reply::Refused(why) => Err(Error::new(why)),
            reply => Ok(reply),
        }
    }

    /// Calls the node. Returns when it has handled the call, what it persisted is on disk and what
    /// it sent is on its way. Waits while the node has too much to send.
    ///
    /// ```
    /// # use allways_live::{Live, sample::{Account, Transfer}};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// let addresses = vec![bound.address()];
    /// let running = bound.start(1, addresses).await.unwrap();
    /// running.call(Transfer { to: 0, amount: 10 }).await.unwrap();
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// If the node has ended.
    pub async fn call(&self, call: N::Call) -> Result<(), Error> {
        let call = postcard::to_stdvec(&call).map_err(cannot("encode the call"))?;
        Self::ask(&self.calls, Request::Call(call)).await.map(drop)
    }

    /// What the node has counted.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// let addresses = vec![bound.address()];
    /// let running = bound.start(1, addresses).await.unwrap();
    /// assert_eq!(running.statistics().await.unwrap().malformed, 0);
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// If the node has ended.
    pub async fn statistics(&self) -> Result<Statistics, Error> {
        match Self::ask(&self.others, Request::Status).await? {
            Reply::Status(status) => Ok(status.statistics),
            other => Err(Error::new(format!("the node answers something else: {other:?}"))),
        }
    }

    /// Ends the node in good order: what it has handled is persisted and sent. Returns the state
    /// that it ended in.
    ///
    /// ```
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # tokio::runtime::Runtime::new().unwrap().block_on(async {
    /// let bound = Live::new(Id::new(0), Account(100)).bind().await.unwrap();
    /// let addresses = vec![bound.address()];
    /// let running = bound.start(1, addresses).await.unwrap();
    /// assert_eq!(running.stop().await.unwrap(), Account(100));
    /// # });
    /// ```
    ///
    /// # Errors
    ///
    /// If the node has ended by itself: its handler panicked, or its disk failed.
    pub async fn stop(self) -> Result<N, Error> {
        // Where it has ended already, the result says why.
        let _ = Self::ask(&self.others, Request::Stop).await;
        self.ended().await
    }

    /// What can end the node while somebody waits for its end.
    pub(crate) fn stopper(&self) -> Stopper {
        Stopper(self.others.clone())
    }

    /// Waits until the node ends: somebody stops it through its control port, or it fails.
    ///
    /// ```no_run
    /// # use allways_live::{Live, sample::Account};
    /// # use allways::Id;
    /// # async fn run(running: allways_live::Running<Account>) {
    /// let last = running.ended().await.unwrap();
    /// # let _ = last;
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// As [`Running::stop`].
    pub async fn ended(self) -> Result<N, Error> {
        let ended = self.task.await;
        self.server.abort();
        match ended {
            Ok(result) => result,
            Err(error) if error.is_panic() => {
                let panic = error.into_panic();
                let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
                let text = text.or_else(|| panic.downcast_ref::<String>().cloned());
                let text = text.unwrap_or_else(|| "a value that is not text".to_owned());
                Err(Error::new(format!("a handler panicked: {text}")))
            }
            Err(error) => Err(Error::new(format!("the node was ended: {error}"))),
        }
    }
}

pub(crate) struct Stopper(mpsc::Sender<Asked>);

impl Stopper {
    pub async fn stop(&self) {
        let (place, done) = oneshot::channel();
        if self.0.send((Request::Stop, place)).await.is_ok() {
            let _ = done.await;
        }
    }
}
