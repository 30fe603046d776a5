//! The versions under test, behind the trait [`Raft`]. Their interfaces are alike but for two
//! functions, so one macro implements it for all.

use crate::disk::{Broken, Disk, Entry};
use crate::raft::{Asked, Raft, Role, Show};
use std::fmt;

/// Implements [`Raft`] for the `Node` of a version, given how it is restarted (from an id, a
/// generation, a term, a vote and a log) and how it handles a message.
macro_rules! version {
    ($raft:ident, restart: $restart:expr, handle: $handle:expr) => {
        impl Raft for $raft::Node {
            type Message = $raft::Message;

            fn restart(id: usize, disk: &Disk) -> Self {
                use $raft::*;
                let mut config = ClusterConfig::new();
                config.voters.extend((0..disk.voters as u64).map(NodeId::new));
                let entries = disk.log.iter().map(|entry| match entry {
                    Entry::Term(term) => LogEntry::Term(Term::new(*term)),
                    Entry::Command => LogEntry::Command,
                });
                let log = Log::new(config, LogEntries::from_iter(LogPosition::ZERO, entries));
                let vote = disk.vote.map(NodeId::new);
                $restart(NodeId::new(id as u64), disk.generation, Term::new(disk.term), vote, log)
            }

            fn timeout(&mut self) {
                self.handle_election_timeout();
            }

            fn propose(&mut self) {
                self.propose_command();
            }

            fn handle(&mut self, message: Self::Message) {
                $handle(self, message);
            }

            fn act(&mut self, disk: &mut Disk, broken: Option<Broken>) -> Asked<Self::Message> {
                use $raft::*;
                let mut asked = Asked { sends: Vec::new(), sets_timer: false };
                while let Some(action) = self.actions_mut().next() {
                    match action {
                        Action::SetElectionTimeout => asked.sets_timer = true,
                        Action::SaveCurrentTerm => disk.term = self.current_term().get(),
                        Action::SaveVotedFor if broken == Some(Broken::ForgetsVote) => {}
                        Action::SaveVotedFor => disk.vote = self.voted_for().map(NodeId::get),
                        Action::AppendLogEntries(_) if broken == Some(Broken::ForgetsLog) => {}
                        Action::AppendLogEntries(entries) => {
                            let read = |entry| match entry {
                                LogEntry::Term(term) => Entry::Term(term.get()),
                                LogEntry::Command => Entry::Command,
                                LogEntry::ClusterConfig(_) => unreachable!("nobody proposes one"),
                            };
                            let kept = entries.prev_position().index.get();
                            disk.append(kept, entries.iter().map(read));
                        }
                        Action::BroadcastMessage(message) => {
                            let to = self.peers().map(|to| (to.get() as usize, message.clone()));
                            asked.sends.extend(to);
                        }
                        Action::SendMessage(to, message) => {
                            asked.sends.push((to.get() as usize, message));
                        }
                        Action::InstallSnapshot(_) => unreachable!("nobody takes snapshots"),
                    }
                }
                asked
            }

            fn term(&self) -> u64 {
                self.current_term().get()
            }

            fn role(&self) -> Role {
                match self.role() {
                    $raft::Role::Follower => Role::Follower,
                    $raft::Role::Candidate => Role::Candidate,
                    $raft::Role::Leader => Role::Leader,
                }
            }

            fn log(&self) -> Vec<u64> {
                let entries = self.log().entries();
                entries.iter_with_positions().map(|(position, _)| position.term.get()).collect()
            }

            fn committed(&self) -> usize {
                self.commit_index().get() as usize
            }
        }

        impl Show for $raft::Message {
            fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                use $raft::*;
                let term = self.term().get();
                let position = |at: &LogPosition| format!("{}:t{}", at.index.get(), at.term.get());
                match self {
                    Message::RequestVoteCall { last_position, .. } => {
                        write!(f, "RequestVote t{term} last {}", position(last_position))
                    }
                    Message::RequestVoteReply { vote_granted, .. } => {
                        let vote = if *vote_granted { "granted" } else { "refused" };
                        write!(f, "Vote t{term} {vote}")
                    }
                    Message::AppendEntriesCall { commit_index, entries, .. } => {
                        let after = position(&entries.prev_position());
                        let new = entries.iter_with_positions().map(|(at, _)| position(&at));
                        let new: Vec<String> = new.collect();
                        let (new, commit) = (new.join(" "), commit_index.get());
                        write!(f, "Append t{term} after {after} [{new}] commit {commit}")
                    }
                    Message::AppendEntriesReply { last_position, .. } => {
                        write!(f, "Appended t{term} last {}", position(last_position))
                    }
                }
            }
        }
    };
}

version!(
    raftbare,
    restart: |id, _generation, term, vote, log| Node::restart(id, term, vote, log),
    handle: |node: &mut raftbare::Node, message| node.handle_message(message)
);

version!(
    noraft_0_4,
    restart: |id, generation, term, vote, log| {
        Node::restart(id, NodeGeneration::new(generation), term, vote, log)
    },
    handle: |node: &mut noraft_0_4::Node, message| node.handle_message(&message)
);

version!(
    noraft_0_5,
    restart: |id, generation, term, vote, log| {
        Node::restart(id, NodeGeneration::new(generation), term, vote, log)
    },
    handle: |node: &mut noraft_0_5::Node, message| node.handle_message(&message)
);
