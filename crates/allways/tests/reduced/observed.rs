//! What observers see, and in which order.

use super::*;

/// Sees some calls, and how many of them it counts.
#[derive(Clone)]
struct Calls {
    wanted: &'static [u8],
    most: u8,
}

impl Observer<Table> for Calls {
    type State = u8;

    fn start(&self) -> u8 {
        0
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Call { call, .. } if self.wanted.contains(call))
    }

    fn observe(&self, state: &mut u8, _: Seen<'_, Table>) {
        *state = (*state + 1).min(self.most);
    }
}

/// Sees what nodes output, the first two in order. It has few states, so that products tell something of it.
#[derive(Clone)]
pub(super) struct FirstOutputs;

impl Observer<Table> for FirstOutputs {
    type State = Vec<u8>;

    fn start(&self) -> Vec<u8> {
        Vec::new()
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut Vec<u8>, seen: Seen<'_, Table>) {
        if let (Seen::Output { output, .. }, 0..2) = (seen, state.len()) {
            state.push(*output);
        }
    }
}

/// What an observer sees of outputs in a search, while properties see this of the nodes.
fn outputs(build: &dyn Fn() -> System<Table>, seen: Seen8, options: &Options) -> Views {
    let met = Arc::new(Mutex::<Views>::default());
    let all = Arc::clone(&met);
    let system = build()
        .observe(FirstOutputs)
        .always("seen", view(move |node: &Table| seen(node.state)), |_| true)
        .always_observed("record", move |outputs: &Vec<u8>| {
            all.lock().unwrap().insert(outputs.clone());
            true
        });
    assert_eq!(system.try_check(options).unwrap().verdict, Verdict::Holds);
    met.lock().unwrap().clone()
}

/// Every reduced search meets what an observer may see of outputs: these.
#[track_caller]
fn preserves_outputs(build: impl Fn() -> System<Table>, expected: &[&[u8]]) {
    let expected: Views = expected.iter().map(|outputs| outputs.to_vec()).collect();
    for seen in PARTS {
        assert_eq!(outputs(&build, seen, &classic()), expected);
        for (name, options) in reduced(&[Por::Views]) {
            assert_eq!(outputs(&build, seen, &options), expected, "{name}");
        }
    }
    for history in &expected {
        for (name, options) in reduced(&[Por::Needed, Por::Terminals]) {
            let system = || build().observe(FirstOutputs);
            let never = history.clone();
            let system_never = system().always_observed("never", move |s: &Vec<u8>| *s != never);
            let verdict = system_never.try_check(&options).unwrap().verdict;
            assert_eq!(verdict, Verdict::Violated, "{history:?}, {name}");
            let once = history.clone();
            let system_once = system().sometimes_observed("once", move |s: &Vec<u8>| *s == once);
            let verdict = system_once.try_check(&options).unwrap().verdict;
            assert_eq!(verdict, Verdict::Holds, "{history:?}, {name}");
        }
    }
}

#[test]
fn a_call_of_which_only_an_observer_could_see_anything_stays_if_the_observer_has_seen_enough() {
    // In state 2 call 1 changes nothing, and the observer does not move: it is no step, and the call may
    // come later. In state 1 it has been made already.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| a.next = Some(2)]),
        (1, On::Call(2), &[|a| a.next = Some(2)]),
        (2, On::Call(3), &[|a| a.next = Some(3)]),
        (3, On::Call(1), &[|a| a.next = Some(4)]),
    ];
    for network in [Network::unordered(), Network::duplicating(), Network::ordered()] {
        for most in [0, 1, 2] {
            for seen in PARTS {
                let observer = Calls { wanted: &[1], most };
                let system = || nodes(&[RULES]).call(0, 1).call(0, 2).call(0, 3);
                let build = || system().network(network).observe(observer.clone());
                preserves(build, seen);
            }
        }
    }
}

#[test]
fn an_observer_tells_the_order_of_what_two_nodes_output() {
    const FIRST: Rules = &[
        (0, On::Call(0), &[|a| (a.next, a.outputs) = (Some(1), vec![1])]),
        (1, On::Call(1), &[|a| a.next = Some(2)]),
        (2, On::Call(2), &[|a| (a.next, a.outputs) = (Some(3), vec![2])]),
    ];
    const SECOND: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(1)]),
        (1, On::Call(1), &[|a| (a.next, a.outputs) = (Some(2), vec![3])]),
        (0, On::Call(1), &[|a| a.next = Some(3)]),
    ];
    let build = || {
        let system = nodes(&[FIRST, SECOND]).call(0, 0).call(0, 1).call(0, 2);
        system.call(1, 0).call(1, 1)
    };
    preserves_outputs(build, &[&[], &[1], &[3], &[1, 2], &[1, 3], &[3, 1]]);
    for seen in PARTS {
        preserves(|| build().observe(FirstOutputs), seen);
    }
}

#[test]
fn an_observer_tells_the_order_of_what_one_node_outputs() {
    // Both orders lead to the same state.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| (a.next, a.outputs) = (Some(1), vec![1])]),
        (0, On::Call(2), &[|a| (a.next, a.outputs) = (Some(2), vec![2])]),
        (1, On::Call(2), &[|a| (a.next, a.outputs) = (Some(3), vec![2])]),
        (2, On::Call(1), &[|a| (a.next, a.outputs) = (Some(3), vec![1])]),
    ];
    let build = || nodes(&[RULES]).call(0, 1).call(0, 2);
    preserves_outputs(build, &[&[], &[1], &[2], &[1, 2], &[2, 1]]);
}

#[test]
fn what_a_node_outputs_tells_what_came_before() {
    // Both orders lead to the same state, but call 2 outputs something else after call 1.
    const RULES: Rules = &[
        (0, On::Call(1), &[|a| a.next = Some(1)]),
        (0, On::Call(2), &[|a| (a.next, a.outputs) = (Some(2), vec![1])]),
        (1, On::Call(2), &[|a| (a.next, a.outputs) = (Some(3), vec![3])]),
        (2, On::Call(1), &[|a| a.next = Some(3)]),
    ];
    preserves_outputs(|| nodes(&[RULES]).call(0, 1).call(0, 2), &[&[], &[1], &[3]]);
    preserves_outputs(|| nodes(&[RULES]).call(0, 2).call(0, 1), &[&[], &[1], &[3]]);
}

/// Sees outputs: any after a 9 moves it.
#[derive(Clone)]
struct AfterNine;

impl Observer<Table> for AfterNine {
    type State = u8;

    fn start(&self) -> u8 {
        0
    }

    fn wants(&self, seen: &Seen<'_, Table>) -> bool {
        matches!(seen, Seen::Output { .. })
    }

    fn observe(&self, state: &mut u8, seen: Seen<'_, Table>) {
        let Seen::Output { output, .. } = seen else { return };
        *state = match (*state, *output) {
            (0, 9) => 1,
            (0, _) => 0,
            (other, _) => (other + 1).min(3),
        };
    }
}

#[test]
fn a_call_that_is_no_step_until_the_observer_has_moved() {
    // Call 1 does nothing but output, which the observer does not mind before node 1 has output a 9. After call 2 it
    // leads elsewhere.
    const FIRST: Rules = &[
        (0, On::Call(1), &[|a| a.outputs = vec![1]]),
        (0, On::Call(2), &[|a| a.next = Some(1)]),
        (1, On::Call(1), &[|a| (a.next, a.outputs) = (Some(2), vec![1])]),
    ];
    const SECOND: Rules = &[(0, On::Call(3), &[|a| (a.next, a.outputs) = (Some(1), vec![9])])];
    for seen in PARTS {
        let system = || nodes(&[FIRST, SECOND]).call(0, 2).call(0, 1).call(1, 3);
        preserves(|| system().observe(AfterNine), seen);
    }
}

#[test]
fn what_only_an_observer_sees_is_not_put_off_for_ever() {
    const TURNS: Rules = &[
        (0, On::Start, &[|a| a.sends = vec![(0, 0)]]),
        (0, On::Message(0), &[|a| (a.next, a.sends) = (Some(4), vec![(0, 0)])]),
        (4, On::Message(0), &[|a| (a.next, a.sends) = (Some(0), vec![(0, 0)])]),
    ];
    const SPEAKS: Rules = &[
        (0, On::Call(0), &[|a| a.next = Some(4)]),
        (4, On::Call(1), &[|a| (a.next, a.outputs) = (Some(20), vec![7])]),
        // Calls 0 and 2 do not commute, so it seems cheaper to let the other node turn.
        (0, On::Call(2), &[|a| a.next = Some(8)]),
        (4, On::Call(2), &[|a| a.next = Some(12)]),
        (8, On::Call(0), &[|a| a.next = Some(16)]),
    ];
    let met = |options: &Options| {
        let build = || nodes(&[TURNS, SPEAKS]).call(1, 0).call(1, 1).call(1, 2);
        outputs(&build, |state| state & 3, options)
    };
    for (name, options) in reduced(&[Por::Views]) {
        assert_eq!(met(&options), met(&classic()), "{name}");
    }
}
