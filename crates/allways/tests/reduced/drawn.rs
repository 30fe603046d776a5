//! Systems drawn at random, most of whose steps commute.

use allways::prelude::*;

/// A node whose state is a set of bits. What it does is drawn: most of it only sets bits, in any order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Drawn {
    pub bits: u8,
    seed: u64,
    nodes: usize,
}

/// Numbers that look as if drawn at random.
fn draw(seed: u64, what: u64) -> u64 {
    let mut x = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ what.wrapping_mul(0xD1B5_4A32_D192_ED03);
    for _ in 0..3 {
        x ^= x >> 29;
        x = x.wrapping_mul(0xBF58_476D_1CE4_E5B9);
        x ^= x >> 32;
    }
    x
}

impl Drawn {
    /// Calls are 0 to 7, messages 8 and on; a message leads to later ones only.
    fn handle(&mut self, event: u8, cx: &mut Cx<'_, Self>) {
        let x = draw(self.seed, u64::from(event));
        let bit = |at: u32| 1u8 << (x >> at & 3);
        let is_set = self.bits & bit(8) != 0;
        let send = (1 + event.max(7) + (x >> 20 & 1) as u8, (x >> 24) as usize % self.nodes);
        let send = |cx: &mut Cx<'_, Self>| {
            if send.0 < 11 {
                cx.send(send.1, send.0);
            }
        };
        match x >> 40 & 7 {
            0 | 1 => self.bits |= bit(12),
            2 => {
                self.bits |= bit(12);
                send(cx);
            }
            3 => self.bits |= if is_set { bit(12) } else { bit(16) },
            4 if is_set => send(cx),
            4 | 5 => self.bits ^= bit(12),
            6 if is_set => self.bits &= !bit(8),
            6 => send(cx),
            _ if is_set => self.bits |= bit(12),
            _ => {}
        }
    }
}

impl Node for Drawn {
    type Msg = u8;
    type Timer = ();
    type Call = u8;
    type Output = ();

    fn on_message(&mut self, _: Id, msg: u8, cx: &mut Cx<'_, Self>) {
        self.handle(msg, cx);
    }

    fn on_call(&mut self, call: u8, cx: &mut Cx<'_, Self>) {
        self.handle(call, cx);
    }
}

/// The system with this number.
pub fn drawn(seed: u64) -> System<Drawn> {
    let nodes = 1 + draw(seed, 100) as usize % 3;
    let all = (0..nodes as u64).map(|node| Drawn { bits: 0, seed: draw(seed, 200 + node), nodes });
    let calls = 3 + draw(seed, 300) % 4;
    (0..calls).fold(System::new(all), |system, call| {
        system.call(draw(seed, 400 + call) as usize % nodes, call as u8)
    })
}
