//! The control port of a node: calls, snapshots, statistics and the end, over TCP.
//!
//! A request and its reply are frames: four bytes of length, then postcard, then the authentication
//! if there is a key. A frame that is too large, forged or no request ends the connection.

use crate::colour::Record;
use crate::error::cannot;
use crate::wire::{Key, open, seal};
use crate::{Error, Statistics};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Semaphore, mpsc, oneshot};

/// A request is no larger than this.
const MAX_REQUEST: usize = 1 << 20;
/// A reply is no larger than this: it may hold a whole state.
const MAX_REPLY: usize = 256 << 20;
/// So many connections at once.
const MAX_CONNECTIONS: usize = 64;
/// A node that takes longer to answer is taken for gone.
const PATIENCE: Duration = Duration::from_secs(5);

const REQUEST: &[u8] = b"allways control request";
const REPLY: &[u8] = b"allways control reply";

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Request {
    /// A call from the application, encoded.
    Call(Vec<u8>),
    /// Record the state for the snapshot of this number.
    Record(u64),
    /// The record for the snapshot of this number.
    Collect(u64),
    /// Who is there, and what was counted.
    Status,
    /// End, in good order.
    Stop,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum Reply {
    Done,
    /// The request makes no sense here.
    Refused(String),
    Record(Option<Record>),
    Status(Status),
}

/// Who a node is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Status {
    pub id: usize,
    pub label: String,
    pub nodes: usize,
    pub incarnation: u64,
    pub colour: u64,
    pub statistics: Statistics,
}

/// A request with the place for its reply.
pub(crate) type Asked = (Request, oneshot::Sender<Reply>);

/// Serves the control port until whoever handles requests is gone. Calls have a queue of their own:
/// they wait while the node has too much to send.
pub(crate) async fn serve(
    listener: TcpListener,
    key: Option<Key>,
    calls: mpsc::Sender<Asked>,
    others: mpsc::Sender<Asked>,
) {
    let slots = std::sync::Arc::new(Semaphore::new(MAX_CONNECTIONS));
    while !others.is_closed() {
        let Ok(slot) = std::sync::Arc::clone(&slots).acquire_owned().await else { return };
        let stream = match listener.accept().await {
            Ok((stream, _)) => stream,
            Err(error) => {
                tracing::warn!(%error, "no connection to the control port");
                // Out of file descriptors, most likely: trying at once would not help.
                tokio::time::sleep(Duration::from_millis(50)).await;
                continue;
            }
        };
        let (key, calls, others) = (key.clone(), calls.clone(), others.clone());
        tokio::spawn(async move {
            let _slot = slot;
            if let Err(error) = answer(stream, key.as_ref(), &calls, &others).await {
                tracing::debug!(%error, "a control connection ended");
            }
        });
    }
}

async fn answer(
    mut stream: TcpStream,
    key: Option<&Key>,
    calls: &mpsc::Sender<Asked>,
    others: &mpsc::Sender<Asked>,
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    loop {
        let request: Request = read(&mut stream, key, REQUEST, MAX_REQUEST).await?;
        let queue = if matches!(request, Request::Call(_)) { calls } else { others };
        let (place, reply) = oneshot::channel();
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        queue.send((request, place)).await.map_err(|_| gone())?;
        let reply = reply.await.map_err(|_| gone())?;
        write(&mut stream, key, REPLY, &reply).await?;
    }
}

async fn write(
    stream: &mut TcpStream,
    key: Option<&Key>,
    context: &[u8],
    what: &impl Serialize,
) -> io::Result<()> {
    let mut bytes = postcard::to_extend(what, vec![0; 4]).map_err(io::Error::other)?;
    let mut body = bytes.split_off(4);
    seal(key, context, &mut body);
    let length = u32::try_from(body.len()).map_err(io::Error::other)?;
    bytes.copy_from_slice(&length.to_be_bytes());
    bytes.append(&mut body);
    stream.write_all(&bytes).await
}

async fn read<T: DeserializeOwned>(
    stream: &mut TcpStream,
    key: Option<&Key>,
    context: &[u8],
    most: usize,
) -> io::Result<T> {
    let wrong = |what: &'static str| io::Error::new(io::ErrorKind::InvalidData, what);
    let length = stream.read_u32().await? as usize;
    if length > most {
        return Err(wrong("a frame that is too large"));
    }
    // What is announced is believed as it comes in, not before.
    let mut bytes = Vec::new();
    stream.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    let bytes = open(key, context, &bytes).map_err(|_| wrong("a frame with a wrong key"))?;
    match postcard::take_from_bytes(bytes) {
        Ok((what, [])) => Ok(what),
        _ => Err(wrong("a frame that makes no sense")),
    }
}

/// A connection to the control port of a node.
pub(crate) struct Control {
    address: SocketAddr,
    stream: TcpStream,
    key: Option<Key>,
}

impl Control {
    pub async fn connect(address: SocketAddr, key: Option<Key>) -> Result<Self, Error> {
        let reach = || format!("reach the node at {address}");
        let connected = tokio::time::timeout(PATIENCE, TcpStream::connect(address)).await;
        let stream = connected.map_err(cannot(reach()))?.map_err(cannot(reach()))?;
        stream.set_nodelay(true).map_err(cannot(reach()))?;
        Ok(Control { address, stream, key })
    }

    /// Asks, and waits for the reply.
    pub async fn ask(&mut self, request: &Request) -> Result<Reply, Error> {
        let key = self.key.as_ref();
        let exchange = async {
            write(&mut self.stream, key, REQUEST, request).await?;
            read(&mut self.stream, key, REPLY, MAX_REPLY).await
        };
        let asked = tokio::time::timeout(PATIENCE, exchange).await;
        let ask = || format!("ask the node at {}", self.address);
        let asked = asked.map_err(|_| cannot(ask())("it does not answer"))?;
        let asked = asked.map_err(|error| match error.kind() {
            // A node says nothing to those that it does not believe.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                let why = "it ends the connection, as it does if its key is another";
                cannot(ask())(why.to_owned())
            }
            io::ErrorKind::InvalidData => {
                cannot(ask())(format!("it answers with {error}; is it a node, with this key?"))
            }
            _ => cannot(ask())(error.to_string()),
        });
        match asked? {
            Reply::Refused(why) => Err(Error::new(why)),
            reply => Ok(reply),
        }
    }

    pub async fn status(&mut self) -> Result<Status, Error> {
        match self.ask(&Request::Status).await? {
            Reply::Status(status) => Ok(status),
            other => Err(self.confused(&other)),
        }
    }

    pub async fn collect(&mut self, number: u64) -> Result<Option<Record>, Error> {
        match self.ask(&Request::Collect(number)).await? {
            Reply::Record(record) => Ok(record),
            other => Err(self.confused(&other)),
        }
    }

    fn confused(&self, reply: &Reply) -> Error {
        Error::new(format!("the node at {} answers something else: {reply:?}", self.address))
    }
}
