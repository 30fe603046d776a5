//! Messages: told apart by their bytes, shown in one line.

use allways::Encoded;
use protobuf::Message as _;
use raft::prelude::{Message, MessageType};
use std::fmt;

/// A message of raft, as it is shown in a run.
pub struct Packet(pub Message);

/// A message in flight.
pub type Wire = Encoded<Packet>;

/// A message with the bytes that would be sent.
///
/// # Panics
///
/// If it cannot be encoded, which raft's messages all can.
pub fn wire(message: Message) -> Wire {
    let bytes = message.write_to_bytes().expect("raft's messages have no required fields");
    Encoded::new(Packet(message), bytes)
}

impl fmt::Debug for Packet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Packet(m) = self;
        let kind = format!("{:?}", m.get_msg_type());
        write!(f, "{} in term {}", kind.trim_start_matches("Msg"), m.term)?;
        match m.get_msg_type() {
            MessageType::MsgRequestVote => {
                write!(f, ", log ends at {} of term {}", m.index, m.log_term)
            }
            MessageType::MsgRequestVoteResponse => {
                f.write_str(if m.reject { ": no" } else { ": yes" })
            }
            MessageType::MsgAppend => {
                write!(f, ", after {} of term {}:", m.index, m.log_term)?;
                let entries: Vec<_> = m.entries.iter().map(crate::Slot::from).collect();
                write!(f, " {entries:?}, committed {}", m.commit)
            }
            MessageType::MsgAppendResponse if m.reject => {
                write!(f, ": no, not {} but perhaps {}", m.index, m.reject_hint)
            }
            MessageType::MsgAppendResponse => write!(f, ": up to {}", m.index),
            MessageType::MsgHeartbeat => write!(f, ", committed {}", m.commit),
            _ => Ok(()),
        }
    }
}
