//! Who is bound where.
//!
//! Each address is an object of its own, the same in all runs: binding it writes it, looking who is there reads it. So those who have to
//! do with different addresses do not hinder each other, and neither do those who connect to the same one. That a socket is gone
//! is not written there: whoever sends to it, or wants its address, notices that.

use super::address::{canonical, fresh_port, process_at};
use crate::handle::Handle;
use crate::runtime::current;
use crate::runtime::names::Site;
use crate::runtime::network::Called;
use crate::runtime::op::Kind;
use crate::sync::mpsc::Channel;
use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::panic::Location;
use std::sync::Arc;

/// So many ports are tried for one who asks for any.
const MAX_TRIED: usize = 64;

/// What is sent to an address.
pub(super) trait Carried: 'static {
    /// Whether it is a datagram: streams have addresses of their own.
    const DATAGRAMS: bool;
    /// What it is sent to.
    const RECEIVER: &'static str;
}

/// Who is bound where, in a run.
struct Registry<T>(BTreeMap<Site, Bound<T>>);

impl<T> Default for Registry<T> {
    fn default() -> Self {
        Registry(BTreeMap::new())
    }
}

/// Somebody at an address.
pub(super) struct Bound<T> {
    pub process: u32,
    pub channel: Arc<Channel<T>>,
}

impl<T> Clone for Bound<T> {
    fn clone(&self) -> Self {
        Bound { process: self.process, channel: Arc::clone(&self.channel) }
    }
}

/// The address of somebody who binds it.
fn site<T: Carried>(address: SocketAddr, process: u32) -> Site {
    let datagrams = T::DATAGRAMS;
    match address.ip().is_unspecified() {
        true => Site::Everywhere { datagrams, process, port: address.port() },
        false => Site::Address { datagrams, at: canonical(address) },
    }
}

fn handle(site: Site, address: SocketAddr, at: &'static Location<'static>) -> Handle {
    let handle = Handle::placed(site, "address", at);
    if let Some(runtime) = current() {
        let called = match site {
            Site::Everywhere { process, port, .. } => Called::Port(process, port),
            _ => Called::Address(canonical(address)),
        };
        runtime.call(handle.object(), called);
    }
    handle
}

fn bound_at<T: Carried>(site: Site) -> Option<Bound<T>> {
    current()?.belonging::<Registry<T>>().0.get(&site).cloned()
}

/// Binds an address, or any port of it: which one, and what is sent there.
pub(super) fn bind<T: Carried>(
    address: SocketAddr,
    at: &'static Location<'static>,
) -> io::Result<(SocketAddr, Bound<T>)> {
    if address.port() != 0 {
        return Ok((address, claim(address, at)?));
    }
    for _ in 0..MAX_TRIED {
        let address = SocketAddr::new(address.ip(), fresh_port());
        match claim(address, at) {
            Err(error) if error.kind() == io::ErrorKind::AddrInUse => {}
            result => return Ok((address, result?)),
        }
    }
    Err(io::ErrorKind::AddrInUse.into())
}

/// An address that is being bound: nobody else can.
struct Held(u32);

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(runtime) = current() {
            runtime.release(self.0);
        }
    }
}

fn claim<T: Carried>(address: SocketAddr, at: &'static Location<'static>) -> io::Result<Bound<T>> {
    let process = current().map_or(0, |runtime| runtime.own_process());
    let site = site::<T>(address, process);
    let handle = handle(site, address, at);
    let before = bound_at::<T>(site);
    // Where nothing has happened yet, nobody has gone either.
    let is_first = current().is_some_and(|runtime| runtime.binds_without_event());
    let _held = match is_first {
        true if before.is_some() => return Err(io::ErrorKind::AddrInUse.into()),
        true => None,
        false => {
            // What is made next is what others will find there.
            let said = current().map_or(0, |runtime| runtime.next_made());
            Some(Held(handle.tell(Kind::Lock, 0, said, at).event()))
        }
    };
    if let Some(before) = bound_at::<T>(site) {
        if before.channel.has_receiver(at) {
            return Err(io::ErrorKind::AddrInUse.into());
        }
        // The event at hand has not written the address.
        let said = current().map_or(0, |runtime| runtime.next_made());
        handle.tell(Kind::Swap, 0, said, at);
    }
    let bound = Bound { process, channel: Arc::new(Channel::new(T::RECEIVER, u64::MAX, at)) };
    let anybody = Handle::new("network", at, None);
    if let Some(runtime) = current() {
        let channel = bound.channel.handle.object();
        runtime.call(channel, Called::Port(process, address.port()));
        // Anybody may send to it, for ever.
        runtime.add_sender(channel, anybody.object(), None);
        runtime.belonging::<Registry<T>>().0.insert(site, bound.clone());
    }
    Ok(bound)
}

/// Who is at an address.
pub(super) fn look<T: Carried>(
    target: SocketAddr,
    at: &'static Location<'static>,
) -> Option<Bound<T>> {
    let exact = Site::Address { datagrams: T::DATAGRAMS, at: canonical(target) };
    look_at(exact, target, at).or_else(|| {
        let runtime = current()?;
        let (processes, own) = (runtime.processes(), runtime.own_process());
        let everywhere = |process| {
            let port = target.port();
            let site = Site::Everywhere { datagrams: T::DATAGRAMS, process, port };
            look_at(site, target, at)
        };
        if let Some(process) = process_at(target.ip(), processes) {
            return everywhere(process);
        }
        everywhere(own)
            .or_else(|| (0..processes).filter(|&other| other != own).find_map(everywhere))
    })
}

fn look_at<T: Carried>(
    site: Site,
    address: SocketAddr,
    at: &'static Location<'static>,
) -> Option<Bound<T>> {
    let handle = handle(site, address, at);
    handle.read(Kind::Load, 0, at);
    bound_at(site)
}
