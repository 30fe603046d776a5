//! The live runtime against a plain UDP echo on tokio: messages that go to another socket and back,
//! on the loopback interface, in the same process, one after the other in the same run.
//!
//! ```text
//! echo            all sizes of messages, both transports
//! echo --quick    one short round of each
//! ```
//!
//! Each side keeps as many messages under way as the other. The plain echo receives, sends back what it
//! has received, and nothing else; the live runtime frames, numbers and colours messages, decodes them,
//! runs handlers, and looks for calls, timers and snapshots in between. What is printed is messages
//! received in a second, and the ratio of the two: the median of several rounds. It fails below what
//! the project promises.

use allways::{Cx, Id, Never, Node};
use allways_live::{Live, Protocol};
use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};
use tokio::net::UdpSocket;

/// Sizes of messages in bytes, each with how many are under way: never more than a socket holds.
const SIZES: [(usize, usize); 4] = [(16, 32), (256, 32), (1_024, 16), (8_192, 4)];
/// What the project promises over UDP.
const PROMISED: f64 = 0.7;

fn main() -> ExitCode {
    let quick = std::env::args().any(|argument| argument == "--quick");
    let (rounds, length) = match quick {
        true => (1, Duration::from_millis(300)),
        false => (7, Duration::from_secs(1)),
    };
    let runtime = match tokio::runtime::Builder::new_multi_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    println!("| bytes | under way | plain UDP/s | live UDP/s | ratio | live TCP/s |");
    println!("|---:|---:|---:|---:|---:|---:|");
    let mut kept = true;
    for (size, window) in SIZES {
        let (mut plains, mut udps, mut tcps, mut ratios) = (vec![], vec![], vec![], vec![]);
        for _ in 0..rounds {
            let plain = runtime.block_on(plain(size, window, length));
            let udp = runtime.block_on(live(size, window, length, Protocol::Udp));
            tcps.push(runtime.block_on(live(size, window, length, Protocol::Tcp)));
            ratios.push(udp / plain);
            plains.push(plain);
            udps.push(udp);
        }
        let ratio = median(&mut ratios);
        kept &= ratio >= PROMISED;
        println!(
            "| {size} | {window} | {:.0} | {:.0} | {ratio:.2} | {:.0} |",
            median(&mut plains),
            median(&mut udps),
            median(&mut tcps)
        );
    }
    if kept {
        return ExitCode::SUCCESS;
    }
    eprintln!("less than {PROMISED} of a plain echo");
    ExitCode::FAILURE
}

fn median(numbers: &mut [f64]) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}

/// How many messages come in per second, as `count` counts them.
async fn rate(count: &AtomicU64, length: Duration) -> f64 {
    // Whatever has to be set up first.
    tokio::time::sleep(Duration::from_millis(100)).await;
    let (start, before) = (Instant::now(), count.load(Relaxed));
    tokio::time::sleep(length).await;
    (count.load(Relaxed) - before) as f64 / start.elapsed().as_secs_f64()
}

async fn plain(size: usize, window: usize, length: Duration) -> f64 {
    let bind = || async { UdpSocket::bind("127.0.0.1:0").await.expect("a port of the loopback") };
    let (here, there) = (bind().await, bind().await);
    let to = there.local_addr().expect("it is bound");
    let count = Arc::new(AtomicU64::new(0));
    let echo = tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        while let Ok((length, from)) = there.recv_from(&mut buffer).await {
            let _ = there.send_to(&buffer[..length], from).await;
        }
    });
    let counted = Arc::clone(&count);
    let send = tokio::spawn(async move {
        let mut buffer = vec![0; 65_536];
        for _ in 0..window {
            let _ = here.send_to(&buffer[..size], to).await;
        }
        while let Ok((length, from)) = here.recv_from(&mut buffer).await {
            counted.fetch_add(1, Relaxed);
            let _ = here.send_to(&buffer[..length], from).await;
        }
    });
    let rate = rate(&count, length).await;
    echo.abort();
    send.abort();
    rate
}

/// Sends back what it receives.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Echo;

/// Send so many messages of so many bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
struct Begin {
    size: usize,
    window: usize,
}

impl Node for Echo {
    type Msg = ByteBuf;
    type Timer = Never;
    type Call = Begin;
    type Output = ();

    fn on_message(&mut self, from: Id, msg: ByteBuf, cx: &mut Cx<'_, Self>) {
        cx.output(());
        cx.send(from, msg);
    }

    fn on_call(&mut self, Begin { size, window }: Begin, cx: &mut Cx<'_, Self>) {
        for _ in 0..window {
            cx.send(1, ByteBuf::from(vec![0; size]));
        }
    }
}

async fn live(size: usize, window: usize, length: Duration, protocol: Protocol) -> f64 {
    let count = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&count);
    let here = Live::new(Id::new(0), Echo).protocol(protocol).outputs(move |()| {
        counted.fetch_add(1, Relaxed);
    });
    let there = Live::new(Id::new(1), Echo).protocol(protocol).outputs(|()| {});
    let here = here.bind().await.expect("ports of the loopback");
    let there = there.bind().await.expect("ports of the loopback");
    let addresses = vec![here.address(), there.address()];
    let here = here.start(1, addresses.clone()).await.expect("it starts");
    let there = there.start(1, addresses).await.expect("it starts");
    here.call(Begin { size, window }).await.expect("it runs");
    let rate = rate(&count, length).await;
    let _ = here.stop().await;
    let _ = there.stop().await;
    rate
}
