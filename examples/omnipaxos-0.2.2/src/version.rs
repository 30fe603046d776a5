//! What is different from one version of the crate to another: how it stores, how it gives away messages, and what is in them. This is 0.2.2.

use crate::disk::{Disk, Value};
use omnipaxos::OmniPaxos;
use omnipaxos::ballot_leader_election::Ballot;
use omnipaxos::messages::Message;
use omnipaxos::messages::sequence_paxos::PaxosMsg;
use omnipaxos::storage::{NoSnapshot, StopSign, Storage, StorageResult};

/// What is checked.
pub const ABOUT: &str = "three servers of the crate omnipaxos 0.2.2, as it shipped, on FIFO links";

/// What counts entries of the log.
pub type Index = u64;

impl Storage<Value> for Disk {
    fn append_entry(&mut self, entry: Value) -> StorageResult<u64> {
        self.append_entries(vec![entry])
    }

    fn append_entries(&mut self, entries: Vec<Value>) -> StorageResult<u64> {
        self.0.borrow_mut().log.extend(entries);
        self.get_log_len()
    }

    fn append_on_prefix(&mut self, from: u64, entries: Vec<Value>) -> StorageResult<u64> {
        self.0.borrow_mut().log.truncate(from as usize);
        self.append_entries(entries)
    }

    fn get_entries(&self, from: u64, to: u64) -> StorageResult<Vec<Value>> {
        let range = from as usize..to as usize;
        Ok(self.0.borrow().log.get(range).unwrap_or_default().to_vec())
    }

    fn get_suffix(&self, from: u64) -> StorageResult<Vec<Value>> {
        Ok(self.0.borrow().log.get(from as usize..).unwrap_or_default().to_vec())
    }

    fn get_log_len(&self) -> StorageResult<u64> {
        Ok(self.0.borrow().log.len() as u64)
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

    fn set_decided_idx(&mut self, index: u64) -> StorageResult<()> {
        self.0.borrow_mut().decided = index as usize;
        Ok(())
    }

    fn get_decided_idx(&self) -> StorageResult<u64> {
        Ok(self.0.borrow().decided as u64)
    }

    fn set_stopsign(&mut self, stopsign: Option<StopSign>) -> StorageResult<()> {
        self.0.borrow_mut().stopsign = stopsign;
        Ok(())
    }

    fn get_stopsign(&self) -> StorageResult<Option<StopSign>> {
        Ok(self.0.borrow().stopsign.clone())
    }

    fn set_compacted_idx(&mut self, index: u64) -> StorageResult<()> {
        self.0.borrow_mut().compacted = index as usize;
        Ok(())
    }

    fn get_compacted_idx(&self) -> StorageResult<u64> {
        Ok(self.0.borrow().compacted as u64)
    }

    /// Nothing is ever trimmed here.
    fn trim(&mut self, _: u64) -> StorageResult<()> {
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
    omni.outgoing_messages()
}

/// What is in a message that has entries, in short.
pub fn entries(msg: &PaxosMsg<Value>) -> Option<String> {
    let values = |suffix: &[Value]| -> Vec<u32> { suffix.iter().map(|value| value.0).collect() };
    match msg {
        PaxosMsg::Promise(promise) => Some(format!("{:?}", values(&promise.suffix))),
        PaxosMsg::AcceptSync(accept) => {
            Some(format!("{:?} from {}", values(&accept.suffix), accept.sync_idx))
        }
        _ => None,
    }
}
