//! Engine `dir` with states where sets of them overlap without being equal: there are more sets than states. Points that another covers are left out
//! on request.

use allways::prelude::*;

const FACES: usize = 8;

/// Somebody rolls a die in silence. Somebody else says numbers, one at a time and without end: who has rolled one of them loses it, and nobody else can tell.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Player {
    Caller,
    Roller(Die),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Die {
    Unrolled,
    Shows(usize),
    Lost,
}

use Player::{Caller, Roller};

impl Node for Player {
    type Msg = usize;
    type Timer = ();
    type Call = ();
    type Output = Never;

    fn on_start(&mut self, cx: &mut Cx<'_, Self>) {
        cx.set_timer(());
    }

    fn on_timer(&mut self, (): (), cx: &mut Cx<'_, Self>) {
        match self {
            Caller => {
                let (to, number) = (1 + cx.choose(cx.nodes() - 1), cx.choose(FACES));
                cx.send(to, number);
            }
            Roller(die) => *die = Die::Shows(cx.choose(FACES)),
        }
    }

    fn on_message(&mut self, from: Id, number: usize, cx: &mut Cx<'_, Self>) {
        match self {
            Caller => cx.set_timer(()),
            Roller(die) => {
                // Too late to roll it.
                cx.cancel_timer(&());
                if *die == Die::Shows(number) || *die == Die::Unrolled {
                    *die = Die::Lost;
                }
                cx.send(from, number);
            }
        }
    }
}

fn players(rollers: usize) -> System<Player> {
    let rollers = std::iter::repeat_n(Roller(Die::Unrolled), rollers);
    System::new(std::iter::once(Caller).chain(rollers))
}

fn die(player: &Player) -> Option<Die> {
    match player {
        Caller => None,
        Roller(die) => Some(*die),
    }
}

/// With a wish for each combination of what two rollers may have.
fn with_wishes(system: System<Player>) -> System<Player> {
    let dice = [Die::Unrolled, Die::Lost].into_iter().chain((0..FACES).map(Die::Shows));
    let pairs = dice.clone().flat_map(|one| dice.clone().map(move |other| (one, other)));
    pairs.fold(system, |system, (one, other)| {
        system.sometimes(format!("{one:?} {other:?}"), view(die), move |dice| {
            dice[1] == Some(one) && dice[2] == Some(other)
        })
    })
}

fn checked(system: &System<Player>, antichains: bool) -> Outcome {
    let options = Options { engine: Engine::Dir, stateful: true, antichains, ..Options::default() };
    system.try_check(&options).unwrap()
}

#[test]
fn points_that_another_covers_are_left_out() {
    for rollers in 1..=3 {
        let system = players(rollers).always("nothing much", view(|_: &Player| ()), |_| true);
        let [all, few] = [false, true].map(|antichains| {
            let outcome = checked(&system, antichains);
            assert!(outcome.complete, "{outcome}");
            outcome.statistics.unique_states
        });
        let states = system.try_check(&Options::default()).unwrap().statistics.unique_states;
        let (all, few, states) = (all.unwrap(), few.unwrap(), states.unwrap());
        assert!(few < all && all <= states, "{rollers}: {few} of {all} points, {states} states");
        // Without, neither sets nor single states pay: there are as many points as global states.
        let times = [1, 9, 45][rollers - 1];
        assert!(times * few <= all, "{rollers}: {few} of {all} points");
    }
}

#[test]
fn what_is_covered_is_still_seen() {
    let system = with_wishes(players(2));
    let outcome = checked(&system, true);
    assert_eq!(outcome.witnesses.len(), (FACES + 2) * (FACES + 2));
}

/// What a larger set has beside is found, and the run to it replays.
#[test]
fn a_violation_in_a_larger_set_is_found() {
    let system = players(2).always("not all is lost", view(die), |dice| {
        dice.iter().flatten().any(|&die| die != Die::Lost)
    });
    let outcome = checked(&system, true);
    let violation = outcome.violation.expect("both can lose");
    assert_eq!(violation.property, "not all is lost");
    assert!(violation.run.events.len() >= 5, "{violation}");
}

#[test]
fn without_states_there_is_nothing_to_cover() {
    for (engine, why) in
        [(Engine::Dir, "make it stateful"), (Engine::Global, "for engine dir only")]
    {
        let options = Options { engine, antichains: true, ..Options::default() };
        let error = players(1).try_check(&options).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
}
