//! A copy of a node does what the node does, and neither sees what the other does: on random runs, with loss, reordering and crashes.

use check_raft::{Disk, Fingerprint, Peer, wire::wire};
use raft::StateRole;
use raft::prelude::Message;

/// Numbers that look random.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % bound
    }
}

enum Happens {
    Election,
    Proposal(u8),
    Heartbeat,
    Message(Message),
}

fn handle(peer: &mut Peer, happens: &Happens) -> Vec<Message> {
    let mut messages = peer.handle(|raft| match happens {
        Happens::Election => raft.campaign().unwrap(),
        Happens::Proposal(value) if raft.raft.state == StateRole::Leader => {
            raft.propose(Vec::new(), vec![*value]).unwrap();
        }
        Happens::Proposal(_) => (),
        Happens::Heartbeat => raft.ping(),
        Happens::Message(message) => raft.step(message.clone()).unwrap(),
    });
    messages.sort_by_key(|message| message.to);
    messages
}

/// All that can be seen of a node: more than its fingerprint.
fn shown(peer: &Peer) -> String {
    let raft = &peer.raft.raft;
    let mut followers: Vec<_> = raft.prs().iter().map(|(id, to)| format!("{id} {to:?}")).collect();
    followers.sort();
    let status = (raft.hard_state(), raft.soft_state(), raft.raft_log.applied, &peer.led);
    format!("{status:?} {:?} {followers:?} {:?}", raft.raft_log.persisted, peer.disk())
}

#[test]
fn copies_do_what_the_copied_does() {
    let (mut steps, mut applied) = (0, 0);
    for seed in 1..=60 {
        let mut random = Random(0x9E37_79B9_7F4A_7C15_u64.wrapping_mul(seed));
        let mut peers: Vec<Peer> = (1..=3).map(|id| Peer::new(id, Disk::empty(3), None)).collect();
        let mut in_flight = Vec::new();
        for step in 0..150 {
            let (at, happens) = match random.below(40) {
                0 => (random.below(3), Happens::Election),
                1 => (random.below(3), Happens::Heartbeat),
                2..5 => (random.below(3), Happens::Proposal(step)),
                5 if random.below(4) == 0 => {
                    let at = random.below(3);
                    let crashed = peers.remove(at);
                    peers.insert(at, crashed.after_crash());
                    continue;
                }
                _ if in_flight.is_empty() => continue,
                _ => {
                    let chosen = random.below(in_flight.len());
                    let message: Message = in_flight.swap_remove(chosen);
                    if random.below(12) == 0 {
                        continue;
                    }
                    (message.to as usize - 1, Happens::Message(message))
                }
            };
            let (mut copy, untouched) = (peers[at].copy(), peers[at].copy());
            let before = shown(&peers[at]);
            assert_eq!(shown(&copy), before);
            let messages = handle(&mut peers[at], &happens);
            assert_eq!(handle(&mut copy, &happens), messages);
            assert_eq!(shown(&copy), shown(&peers[at]));
            assert_eq!(Fingerprint::of(&copy), Fingerprint::of(&peers[at]));
            assert_eq!(shown(&untouched), before);
            in_flight.extend(messages);
            steps += 1;
            if random.below(2) == 0 {
                peers[at] = copy;
            }
        }
        applied += peers.iter().map(|peer| peer.disk().log.applied.len()).sum::<usize>();
    }
    assert!(steps > 3_000 && applied > 100, "{steps} steps, {applied} entries applied");
}

#[test]
fn messages_are_told_apart_by_what_they_say() {
    let mut peer = Peer::new(1, Disk::empty(3), None);
    let first = handle(&mut peer, &Happens::Election);
    let second = handle(&mut peer, &Happens::Election);
    assert_eq!(wire(first[0].clone()), wire(first[0].clone()));
    assert_ne!(wire(first[0].clone()), wire(second[0].clone()));
    assert_eq!(
        format!("{:?}", wire(second[0].clone())),
        "RequestVote in term 2, log ends at 0 of term 0"
    );
}
