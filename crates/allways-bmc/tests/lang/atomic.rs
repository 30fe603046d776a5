//! An atomic block does what its statements do one after the other.
//!
//! Random statements are compiled twice, as one atomic block and as they are; both are executed from random states for
//! all inputs, and must end in the same states with the same checks failed.

use super::lowering::compiled;
use allways_bmc::program::{Check, Checked, ExprId, Instruction, Kind, Node, Program};
use proptest::prelude::*;
use std::cell::RefCell;
use std::collections::BTreeSet;

/// A value for each element of each variable.
type State = Vec<Vec<i64>>;
/// Where an execution ends, and what failed on the way.
type Ends = BTreeSet<(State, BTreeSet<String>)>;

const DECLARATIONS: &str = "shared uint<2> x, y; shared int<3> s; shared bool b; \
                            shared uint<2> a[3]; shared bool f[2]; mutex m, k[2];";

/// Evaluates expressions in a state, each of them once.
struct Eval<'p> {
    program: &'p Program,
    state: &'p State,
    inputs: &'p [i64],
    known: RefCell<Vec<Option<i64>>>,
}

impl Eval<'_> {
    fn eval(&self, id: ExprId) -> i64 {
        let known = self.known.borrow()[id.index()];
        known.unwrap_or_else(|| {
            let value = self.compute(id);
            self.known.borrow_mut()[id.index()] = Some(value);
            value
        })
    }

    fn compute(&self, id: ExprId) -> i64 {
        let exprs = &self.program.exprs;
        match exprs.node(id) {
            Node::Const(value) => value,
            Node::Var(id) => self.state[id.0 as usize][0],
            Node::Element(id, index) => {
                let index = usize::try_from(self.eval(index)).unwrap_or(usize::MAX);
                self.state[id.0 as usize].get(index).copied().unwrap_or(0)
            }
            Node::Input(number) => self.inputs[number as usize],
            Node::At(..) => unreachable!("there are no properties"),
            Node::Unary(op, a) => op.apply(self.eval(a), exprs.kind(a), exprs.kind(id)),
            Node::Binary(op, a, b) => op.apply(self.eval(a), self.eval(b), exprs.kind(a)),
            Node::If(c, a, b) => self.eval(if self.eval(c) == 1 { a } else { b }),
        }
    }
}

/// All combinations of values of these kinds.
fn combinations(kinds: &[Kind]) -> Vec<Vec<i64>> {
    let mut all = vec![Vec::new()];
    for kind in kinds {
        let (least, most) = kind.range();
        let longer = |inputs: Vec<i64>| {
            (least..=most).map(move |value| [inputs.clone(), vec![value]].concat())
        };
        all = all.into_iter().flat_map(longer).collect();
    }
    all
}

/// Performs an instruction: the state after it, what failed, and where it goes on.
fn perform(
    program: &Program,
    state: &State,
    inputs: &[i64],
    instruction: &Instruction,
) -> Option<(State, BTreeSet<String>, u32)> {
    let known = RefCell::new(vec![None; program.exprs.len()]);
    let evaluator = Eval { program, state, inputs, known };
    let eval = |id| evaluator.eval(id);
    if eval(instruction.guard) == 0 {
        return None;
    }
    let mut after = state.clone();
    for update in instruction.updates.iter().filter(|update| eval(update.when) == 1) {
        let index = update.index.map_or(0, eval);
        let variable = &mut after[update.variable.0 as usize];
        if let Some(value) = usize::try_from(index).ok().and_then(|index| variable.get_mut(index)) {
            *value = eval(update.value);
        }
    }
    let failed = instruction.checks.iter().filter(|check| eval(check.bad) == 1);
    // Indices that fail together are one check.
    let show = |check: &Check| match check.what {
        Checked::Index => "index".to_owned(),
        what => format!("{what} {}", check.span.len()),
    };
    let failed = failed.map(show).collect();
    let next = instruction.next.iter().find(|(condition, _)| eval(*condition) == 1);
    Some((after, failed, next.expect("the last condition is true").1))
}

/// All ends of the only process.
fn ends(program: &Program, state: &State) -> Ends {
    let code = &program.processes[0].code;
    let mut ends = Ends::new();
    let mut open = vec![(state.clone(), BTreeSet::new(), 0)];
    let mut seen = BTreeSet::new();
    while let Some((state, failed, location)) = open.pop() {
        if !seen.insert((state.clone(), failed.clone(), location)) {
            continue;
        }
        let Some(instruction) = code.get(location as usize) else {
            ends.insert((state, failed));
            continue;
        };
        for inputs in combinations(&instruction.inputs) {
            if let Some((state, more, next)) = perform(program, &state, &inputs, instruction) {
                open.push((state, failed.union(&more).cloned().collect(), next));
            }
        }
    }
    ends
}

fn number() -> impl Strategy<Value = String> {
    let leaf = prop_oneof![
        Just("x".to_owned()),
        Just("y".to_owned()),
        Just("a[0]".to_owned()),
        Just("a[y]".to_owned()),
        Just("a[s]".to_owned()),
        (0..4_i64).prop_map(|value: i64| value.to_string()),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| format!("x + {a} - ({b})")),
            inner.clone().prop_map(|a| format!("a[x ^ ({a})]")),
            (truth_of(inner.clone()), inner.clone()).prop_map(|(c, a)| format!("({c} ? {a} : y)")),
        ]
    })
}

fn truth_of(number: impl Strategy<Value = String> + Clone) -> impl Strategy<Value = String> {
    prop_oneof![
        Just("b".to_owned()),
        Just("f[x & 1]".to_owned()),
        Just("s < 0".to_owned()),
        Just("(x < 3 && a[x] == y)".to_owned()),
        Just("(b || f[y])".to_owned()),
        (number.clone(), number).prop_map(|(a, b)| format!("x + ({a}) <= y + ({b})")),
    ]
}

fn statement() -> impl Strategy<Value = String> {
    let simple = prop_oneof![
        4 => number().prop_map(|value| format!("x = {value};")),
        4 => number().prop_map(|value| format!("y = {value};")),
        2 => number().prop_map(|value| format!("s = ({value}) as int<3> - 2;")),
        3 => (number(), number()).prop_map(|(at, value)| format!("a[y - ({at})] = {value};")),
        2 => number().prop_map(|value| format!("a[1] = {value};")),
        2 => number().prop_map(|value| format!("a[s] = {value};")),
        2 => truth_of(number().boxed()).prop_map(|value| format!("f[y & 1] = {value};")),
        2 => truth_of(number().boxed()).prop_map(|value| format!("b = {value};")),
        1 => truth_of(number().boxed()).prop_map(|value| format!("await {value};")),
        1 => truth_of(number().boxed()).prop_map(|value| format!("assert {value};")),
        1 => Just("lock m;".to_owned()),
        1 => Just("unlock m;".to_owned()),
        1 => Just("unlock k[x & 1];".to_owned()),
        1 => Just("lock k[x];".to_owned()),
        1 => Just("b = *;".to_owned()),
        1 => Just("skip;".to_owned()),
    ];
    simple.prop_recursive(3, 16, 3, |inner| {
        let block = || prop::collection::vec(inner.clone(), 0..4).prop_map(|all| all.concat());
        prop_oneof![
            (truth_of(number().boxed()), block(), block())
                .prop_map(|(c, a, b)| format!("if ({c}) {{ {a} }} else {{ {b} }}")),
            (truth_of(number().boxed()), truth_of(number().boxed()), block(), block())
                .prop_map(|(c, d, a, b)| format!("if ({c}) {{ {a} }} else if ({d}) {{ {b} }}")),
            (block(), block(), block())
                .prop_map(|(a, b, c)| format!("either {{ {a} }} or {{ {b} }} or {{ {c} }}")),
            block().prop_map(|a| format!("if (*) {{ {a} }}")),
            block().prop_map(|a| format!("atomic {{ {a} }}")),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn does_what_its_statements_do(
        body in prop::collection::vec(statement(), 0..6).prop_map(|all| all.concat()),
        values in prop::collection::vec(0_i64..64, 12),
    ) {
        let block = compiled(&format!("{DECLARATIONS} process P {{ atomic {{ {body} }} }}"));
        let row = compiled(&format!("{DECLARATIONS} process P {{ {body} }}"));
        let instruction = &block.processes[0].code[0];
        let inputs: usize = instruction.inputs.iter().map(|kind| kind.bits()).sum();
        prop_assume!(inputs <= 10);
        let mut values = values.into_iter();
        let state: State = (block.variables.iter())
            .map(|variable| {
                let value = |_: &Option<i64>| variable.kind.wrap(values.next().unwrap_or(0));
                variable.initial.iter().map(value).collect()
            })
            .collect();
        prop_assert_eq!(ends(&block, &state), ends(&row, &state), "{}", body);
        // Each variable that is no array has one update, and says whether it is written.
        let mut seen = BTreeSet::new();
        for update in instruction.updates.iter().filter(|update| update.index.is_none()) {
            prop_assert!(seen.insert(update.variable), "{}", body);
        }
    }
}
