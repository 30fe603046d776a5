//! What is different from one version of the crate to another: how it stores, how it gives away messages, and what is in them. This is 0.2.4.

use crate::disk::{Disk, Value};
use omnipaxos::OmniPaxos;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::Message;
use omnipaxos::messages::sequence_paxos::PaxosMsg;
use omnipaxos::storage::{NoSnapshot, StopSign, Storage, StorageOp, StorageResult};
use omnipaxos::util::LogSync;

/// What is checked.
pub const ABOUT: &str = "three servers of the crate omnipaxos 0.2.4, as it ships, on FIFO links";

/// What counts entries of the log.
pub type Index = usize;

impl Storage<Value> for Disk {
    fn write_atomically(&mut self, ops: Vec<StorageOp<Value>>) -> StorageResult<()> {
        for op in ops {
            match op {
                StorageOp::AppendEntry(entry) => self.append_entry(entry)?,
                StorageOp::AppendEntries(entries) => self.append_entries(entries)?,
                StorageOp::AppendOnPrefix(from, entries) => self.append_on_prefix(from, entries)?,
                StorageOp::SetPromise(ballot) => self.set_promise(ballot)?,
                StorageOp::SetDecidedIndex(index) => self.set_decided_idx(index)?,
                StorageOp::SetAcceptedRound(ballot) => self.set_accepted_round(ballot)?,
                StorageOp::SetCompactedIdx(index) => self.set_compacted_idx(index)?,
                StorageOp::Trim(index) => self.trim(index)?,
                StorageOp::SetStopsign(stopsign) => self.set_stopsign(stopsign)?,
                StorageOp::SetSnapshot(snapshot) => self.set_snapshot(snapshot)?,
            }
        }
        Ok(())
    }

    fn append_entry(&mut self, entry: Value) -> StorageResult<()> {
        self.0.borrow_mut().log.push(entry);
        Ok(())
    }

    fn append_entries(&mut self, entries: Vec<Value>) -> StorageResult<()> {
        self.0.borrow_mut().log.extend(entries);
        Ok(())
    }

    fn append_on_prefix(&mut self, from: usize, entries: Vec<Value>) -> StorageResult<()> {
        self.0.borrow_mut().log.truncate(from);
        self.append_entries(entries)
    }

    fn get_entries(&self, from: usize, to: usize) -> StorageResult<Vec<Value>> {
        Ok(self.0.borrow().log.get(from..to).unwrap_or_default().to_vec())
    }

    fn get_suffix(&self, from: usize) -> StorageResult<Vec<Value>> {
        Ok(self.0.borrow().log.get(from..).unwrap_or_default().to_vec())
    }

    fn get_log_len(&self) -> StorageResult<usize> {
        Ok(self.0.borrow().log.len())
    }

    fn set_promise(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.0.borrow_mut().promise = Some(ballot);
        Ok(())
    }

    fn get_promise(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.0.borrow().promise)
    }

    fn set_accepted_round(&mut self, ballot: Ballot) -> StorageResult<()> {
        self.0.borrow_mut().accepted_round = Some(ballot);
        Ok(())
    }

    fn get_accepted_round(&self) -> StorageResult<Option<Ballot>> {
        Ok(self.0.borrow().accepted_round)
    }

    fn set_decided_idx(&mut self, index: usize) -> StorageResult<()> {
        self.0.borrow_mut().decided = index;
        Ok(())
    }

    fn get_decided_idx(&self) -> StorageResult<usize> {
        Ok(self.0.borrow().decided)
    }

    fn set_stopsign(&mut self, stopsign: Option<StopSign>) -> StorageResult<()> {
        self.0.borrow_mut().stopsign = stopsign;
        Ok(())
    }

    fn get_stopsign(&self) -> StorageResult<Option<StopSign>> {
        Ok(self.0.borrow().stopsign.clone())
    }

    fn set_compacted_idx(&mut self, index: usize) -> StorageResult<()> {
        self.0.borrow_mut().compacted = index;
        Ok(())
    }

    fn get_compacted_idx(&self) -> StorageResult<usize> {
        Ok(self.0.borrow().compacted)
    }

    /// Nothing is ever trimmed here.
    fn trim(&mut self, _: usize) -> StorageResult<()> {
        Ok(())
    }

    /// There are no snapshots here.
    fn set_snapshot(&mut self, _: Option<NoSnapshot>) -> StorageResult<()> {
        Ok(())
    }

    fn get_snapshot(&self) -> StorageResult<Option<NoSnapshot>> {
        Ok(None)
    }
}

/// Takes what is to be sent.
pub fn outgoing(omni: &mut OmniPaxos<Value, Disk>) -> Vec<Message<Value>> {
    let mut messages = Vec::new();
    omni.take_outgoing_messages(&mut messages);
    messages
}

/// What is in a message that has entries, in short.
pub fn entries(msg: &PaxosMsg<Value>) -> Option<String> {
    let sync = |sync: &LogSync<Value>| {
        let values: Vec<u32> = sync.suffix.iter().map(|value| value.0).collect();
        format!("{values:?} from {}", sync.sync_idx)
    };
    match msg {
        PaxosMsg::Promise(promise) => promise.log_sync.as_ref().map(sync),
        PaxosMsg::AcceptSync(accept) => Some(sync(&accept.log_sync)),
        _ => None,
    }
}
