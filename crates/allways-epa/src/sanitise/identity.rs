//! Which lock, condition variable, barrier or channel is at an address.
//!
//! The address alone does not tell: what one function has on its stack is gone when it returns, and the next one may have another
//! lock there; memory that was given back is allocated again. Two locks that are taken for one would exclude each other, and what is
//! not ordered at all would seem to be. So a place in an object is given a number of its own, as objects are told apart
//! whenever an address is used again. What is in no object that is known has the number that is its address.

use super::memory::Memory;
use allways_epa_format::Event;

/// No address has this bit.
const IN_AN_OBJECT: u64 = 1 << 63;

/// Places further from the beginning of an object than this have the numbers of their addresses.
const FURTHEST: u64 = 1 << 31;

fn identity(memory: &Memory, address: u64) -> u64 {
    match memory.find(address) {
        Some((object, offset)) if offset < FURTHEST => {
            IN_AN_OBJECT | u64::from(object) << 31 | offset
        }
        _ => address,
    }
}

/// The event, with numbers of what is at its addresses in their place. Addresses of memory stay as they are.
pub(super) fn identified(memory: &Memory, event: Event) -> Event {
    let of = |address| identity(memory, address);
    match event {
        Event::Lock { stamp, address } => Event::Lock { stamp, address: of(address) },
        Event::LockShared { stamp, address } => Event::LockShared { stamp, address: of(address) },
        Event::Unlock { stamp, address } => Event::Unlock { stamp, address: of(address) },
        Event::WaitBegin { stamp, condition, lock } => {
            Event::WaitBegin { stamp, condition: of(condition), lock: of(lock) }
        }
        Event::WaitEnd { stamp, condition, lock } => {
            Event::WaitEnd { stamp, condition: of(condition), lock: of(lock) }
        }
        Event::Signal { stamp, condition } => Event::Signal { stamp, condition: of(condition) },
        Event::Broadcast { stamp, condition } => {
            Event::Broadcast { stamp, condition: of(condition) }
        }
        Event::BarrierEnter { stamp, address } => {
            Event::BarrierEnter { stamp, address: of(address) }
        }
        Event::BarrierLeave { stamp, address } => {
            Event::BarrierLeave { stamp, address: of(address) }
        }
        // It is nowhere yet.
        Event::Barrier { address: 0, .. } => event,
        Event::Barrier { stamp, address, count } => {
            Event::Barrier { stamp, address: of(address), count }
        }
        Event::Renew { stamp, address } => Event::Renew { stamp, address: of(address) },
        Event::Send { stamp, channel } => Event::Send { stamp, channel: of(channel) },
        Event::Receive { stamp, channel } => Event::Receive { stamp, channel: of(channel) },
        _ => event,
    }
}
