//! Nodes over real sockets, in one process: messages, snapshots, disks, keys, and what is refused.

use allways::{Cx, Id, Never, Node, Snapshot};
use allways_live::sample::{Account, Money, Transfer};
use allways_live::{Controls, Error, Key, Live, LiveNode, Protocol, Running, Statistics};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use tokio::net::UdpSocket;

const NODES: usize = 3;
const EACH: u64 = 1_000;

struct Cluster<N: LiveNode> {
    running: Vec<Running<N>>,
    addresses: Vec<SocketAddr>,
    controls: Vec<SocketAddr>,
}

async fn start<N: LiveNode>(
    node: &N,
    with: impl Fn(Live<N>, usize) -> Live<N>,
) -> Result<Cluster<N>, Error> {
    let mut bound = Vec::new();
    for index in 0..NODES {
        bound.push(with(Live::new(Id::new(index), node.clone()), index).bind().await?);
    }
    let addresses: Vec<_> = bound.iter().map(|bound| bound.address()).collect();
    let controls = bound.iter().map(|bound| bound.control_address()).collect();
    let mut running = Vec::new();
    for bound in bound {
        running.push(bound.start(7, addresses.clone()).await?);
    }
    Ok(Cluster { running, addresses, controls })
}

/// Pseudo-random numbers, the same in every run.
fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
    let mut state = seed;
    move |end| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % end
    }
}

fn total(snapshot: &Snapshot<Account>) -> u64 {
    let on_accounts: u64 = snapshot.locals.iter().map(|local| local.node.0).sum();
    let in_flight: u64 = snapshot.envelopes.iter().map(|(_, _, Money(amount))| amount).sum();
    on_accounts + in_flight
}

/// Transfers without a pause, while snapshots are taken: what each snapshot adds up to, and how many
/// envelopes all of them saw in flight.
async fn totals(protocol: Protocol, drop: f64) -> (Vec<u64>, usize) {
    let with = |live: Live<Account>, _| live.protocol(protocol).drop(drop).seed(1);
    let cluster = start(&Account(EACH), with).await.unwrap();
    let mut drivers = tokio::task::JoinSet::new();
    let controls = cluster.controls.clone();
    for (from, running) in cluster.running.into_iter().enumerate() {
        drivers.spawn(async move {
            let mut number = numbers(from as u64);
            loop {
                let transfer = Transfer { to: number(NODES), amount: 1 + number(5) as u64 };
                if running.call(transfer).await.is_err() {
                    return;
                }
            }
        });
    }
    let mut controls = Controls::connect(&controls, None).await.unwrap();
    let (mut totals, mut in_flight) = (Vec::new(), 0);
    for number in 1..=40 {
        let recorded = controls.snapshot().await.unwrap();
        assert_eq!((recorded.number, recorded.missing), (number, 0));
        let snapshot = recorded.decode::<Account>().unwrap();
        totals.push(total(&snapshot));
        in_flight += snapshot.envelopes.len();
    }
    controls.stop().await;
    drivers.join_all().await;
    (totals, in_flight)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_tcp_every_snapshot_has_all_the_money() {
    let (totals, in_flight) = totals(Protocol::Tcp, 0.0).await;
    assert!(totals.iter().all(|&total| total == EACH * NODES as u64), "{totals:?}");
    assert!(in_flight > 0, "nothing ever crossed a cut: this tests nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_udp_no_snapshot_has_more_money_than_there_is() {
    let (totals, _) = totals(Protocol::Udp, 0.0).await;
    assert!(totals.iter().all(|&total| total <= EACH * NODES as u64), "{totals:?}");
    let (lossy, _) = self::totals(Protocol::Udp, 0.3).await;
    // What is lost is gone for good.
    assert!(lossy.is_sorted_by(|a, b| a >= b), "{lossy:?}");
    assert!(lossy[39] < EACH * NODES as u64, "{lossy:?}");
}

async fn until(running: &Running<Account>, holds: impl Fn(&Statistics) -> bool) -> Statistics {
    for _ in 0..1_000 {
        let statistics = running.statistics().await.unwrap();
        if holds(&statistics) {
            return statistics;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    panic!("it never came to that: {:?}", running.statistics().await);
}

#[tokio::test]
async fn what_makes_no_sense_is_counted_and_dropped() {
    let cluster = start(&Account(EACH), |live, _| live).await.unwrap();
    // A stranger's address is enough to be refused.
    let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
    stranger.send_to(b"hello", cluster.addresses[0]).await.unwrap();
    until(&cluster.running[0], |counts| counts.stray == 1).await;
    // Noise from the address of a node: take that address over.
    let mut running = cluster.running.into_iter();
    let (first, second) = (running.next().unwrap(), running.next().unwrap());
    second.stop().await.unwrap();
    let socket = UdpSocket::bind(cluster.addresses[1]).await.unwrap();
    let mut number = numbers(3);
    for _ in 0..200 {
        let noise: Vec<u8> = (0..number(100)).map(|_| number(256) as u8).collect();
        socket.send_to(&noise, cluster.addresses[0]).await.unwrap();
    }
    let counts = until(&first, |counts| counts.malformed + counts.stray == 201).await;
    assert_eq!(counts.handled, 0);
    // It still works.
    first.call(Transfer { to: 0, amount: 1 }).await.unwrap();
    until(&first, |counts| counts.handled == 1).await;
    assert_eq!(first.stop().await.unwrap(), Account(EACH));
}

/// Sends as many bytes as it is called with.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Bulk(usize);

impl Node for Bulk {
    type Msg = Vec<u8>;
    type Timer = Never;
    type Call = usize;
    type Output = Never;
    fn on_message(&mut self, _: Id, msg: Vec<u8>, _: &mut Cx<'_, Self>) {
        self.0 += msg.len();
    }
    fn on_call(&mut self, bytes: usize, cx: &mut Cx<'_, Self>) {
        cx.send(1, vec![7; bytes]);
    }
}

#[tokio::test]
async fn messages_that_are_too_large_are_counted_and_dropped() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let cluster = start(&Bulk(0), |live, _| live.protocol(protocol)).await.unwrap();
        for bytes in [60_000, 70_000, 1] {
            cluster.running[0].call(bytes).await.unwrap();
        }
        let counts = cluster.running[0].statistics().await.unwrap();
        assert_eq!((counts.sent, counts.oversized), (2, 1));
        for _ in 0..1_000 {
            if cluster.running[1].statistics().await.unwrap().handled == 2 {
                break;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let mut running = cluster.running.into_iter();
        let (_, second) = (running.next(), running.next().unwrap());
        assert_eq!(second.stop().await.unwrap(), Bulk(60_001), "{protocol:?}");
    }
}

#[tokio::test]
async fn a_node_that_cannot_send_takes_no_more_calls_but_answers() {
    let bound = Live::new(Id::new(0), Bulk(0)).protocol(Protocol::Tcp).bind().await.unwrap();
    let (address, control) = (bound.address(), bound.control_address());
    // Nobody listens where node 1 should be.
    let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let running = bound.start(1, vec![address, nobody]).await.unwrap();
    let mut calls = 0;
    while tokio::time::timeout(Duration::from_millis(500), running.call(60_000)).await.is_ok() {
        calls += 1;
        assert!(calls < 100, "it takes call after call");
    }
    assert!(calls > 60, "{calls}");
    assert_eq!(running.statistics().await.unwrap().overflowed, 0);
    assert!(Controls::connect(&[control], None).await.is_err(), "it is one of two");
    running.stop().await.unwrap();
}

#[tokio::test]
async fn with_a_key_only_those_who_have_it_are_heard() {
    for protocol in [Protocol::Udp, Protocol::Tcp] {
        let key = |index: usize| Key::new(&[if index == 2 { 2 } else { 1 }; 32]).unwrap();
        let with = |live: Live<Account>, index| live.protocol(protocol).key(key(index));
        let cluster = start(&Account(EACH), with).await.unwrap();
        cluster.running[0].call(Transfer { to: 1, amount: 10 }).await.unwrap();
        cluster.running[2].call(Transfer { to: 1, amount: 100 }).await.unwrap();
        let counts = until(&cluster.running[1], |c| c.handled == 1 && c.forged >= 1).await;
        assert_eq!(counts.malformed, 0);
        // Nor can one without it control.
        let first = &cluster.controls[..1];
        assert!(Controls::connect(first, None).await.is_err());
        assert!(Controls::connect(first, Some(key(2))).await.is_err());
        let wrong = Controls::connect(first, Some(key(0))).await.err().unwrap().to_string();
        assert!(wrong.contains("is node 0 of 3, not node 0 of 1"), "{wrong}");
    }
}

fn scratch(name: &str) -> PathBuf {
    let path = std::env::temp_dir().join(format!("allways-live-{name}-{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&path);
    path
}

async fn alone<N: LiveNode>(live: Live<N>) -> Result<Running<N>, Error> {
    let bound = live.bind().await?;
    let addresses = vec![bound.address()];
    bound.start(1, addresses).await
}

#[tokio::test]
async fn a_restart_recovers_what_was_persisted() {
    let directory = scratch("restart");
    // All that is sent is lost.
    let with = |live: Live<Account>, index: usize| {
        live.drop(1.0).directory(directory.join(index.to_string()))
    };
    let cluster = start(&Account(EACH), with).await.unwrap();
    cluster.running[0].call(Transfer { to: 1, amount: 10 }).await.unwrap();
    for running in cluster.running {
        running.stop().await.unwrap();
    }
    // Not as it is given now, but as it was.
    let cluster = start(&Account(1), with).await.unwrap();
    let mut kept = Vec::new();
    for running in cluster.running {
        kept.push(running.stop().await.unwrap().0);
    }
    assert_eq!(kept, [EACH - 10, EACH, EACH]);
    std::fs::write(directory.join("0/state"), "nonsense").unwrap();
    let error = start(&Account(1), with).await.err().unwrap().to_string();
    assert!(error.contains("state is damaged: it is not the state"), "{error}");
    std::fs::remove_dir_all(directory).unwrap();
}

/// Persists nothing; counts starts and restarts apart, and ticks.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Clock {
    restarted: bool,
    ticks: u32,
}

impl Node for Clock {
    type Msg = Never;
    type Timer = u8;
    type Call = ();
    type Output = u32;
    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.set_timer(1);
        cx.set_timer(200);
    }
    fn on_restart(&mut self, _: &mut Cx<'_, Self>) {
        self.restarted = true;
    }
    fn on_message(&mut self, _: Id, msg: Never, _: &mut Cx<'_, Self>) {
        match msg {}
    }
    fn on_timer(&mut self, timer: u8, cx: &mut Cx<'_, Self>) {
        assert_eq!(timer, 1, "the other one takes an hour");
        self.ticks += 1;
        cx.output(self.ticks);
        if self.ticks < 3 {
            cx.set_timer(1);
        }
    }
    fn on_call(&mut self, (): (), _: &mut Cx<'_, Self>) {
        panic!("called");
    }
}

fn clock() -> Live<Clock> {
    let slow = |timer: &u8| match timer {
        1 => Duration::from_millis(1),
        _ => Duration::from_secs(3_600),
    };
    Live::new(Id::new(0), Clock { restarted: false, ticks: 0 }).timers(slow)
}

#[tokio::test]
async fn timers_fire_and_nodes_that_persist_nothing_restart_as_they_were_given() {
    let directory = scratch("clock");
    let (tell, mut ticks) = tokio::sync::mpsc::unbounded_channel();
    let live = clock().directory(&directory).outputs(move |tick| tell.send(*tick).unwrap());
    let running = alone(live).await.unwrap();
    for tick in 1..=3 {
        assert_eq!(ticks.recv().await, Some(tick));
    }
    assert_eq!(running.stop().await.unwrap(), Clock { restarted: false, ticks: 3 });
    let again = alone(clock().directory(&directory)).await.unwrap();
    assert_eq!(again.stop().await.unwrap(), Clock { restarted: true, ticks: 0 });
    std::fs::remove_dir_all(directory).unwrap();
}

#[tokio::test]
async fn a_handler_that_panics_ends_the_node_with_its_message() {
    let running = alone(clock()).await.unwrap();
    assert!(running.call(()).await.is_err());
    let error = running.ended().await.unwrap_err().to_string();
    assert_eq!(error, "a handler panicked: called");
}

#[tokio::test]
async fn a_snapshot_is_given_up_when_a_node_is_gone_and_the_next_one_is_taken() {
    let cluster = start(&Account(EACH), |live, _| live).await.unwrap();
    let mut controls = Controls::connect(&cluster.controls, None).await.unwrap();
    controls.snapshot().await.unwrap();
    let mut running = cluster.running;
    running.pop().unwrap().stop().await.unwrap();
    assert!(controls.snapshot().await.is_err());
    let live = Live::new(Id::new(2), Account(5)).listen(cluster.addresses[2], cluster.controls[2]);
    let again = live.bind().await.unwrap().start(7, cluster.addresses.clone()).await.unwrap();
    let snapshot = controls.snapshot().await.unwrap().decode::<Account>().unwrap();
    assert_eq!(snapshot.locals[2].node, Account(5));
    assert!(controls.snapshot().await.unwrap().decode::<Clock>().is_err());
    again.stop().await.unwrap();
}
