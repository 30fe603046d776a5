//! Numbers as bits, the lowest first, and arithmetic on them.
//!
//! What each operation means is written at the top of [`program`](crate::program); the interpreter and this are compared
//! in tests for all operands of small kinds.

use super::graph::{FALSE, Graph, Lit, TRUE};
use crate::program::Kind;

/// A value: as many bits as its kind has, the lowest first.
pub(crate) type Bits = Vec<Lit>;

/// A constant.
pub(crate) fn constant(value: i64, bits: usize) -> Bits {
    (0..bits).map(|bit| Lit::from(value >> bit & 1 == 1)).collect()
}

/// The number that bits are, if all are constant.
#[cfg(test)]
pub(crate) fn value(bits: &[Lit], kind: Kind) -> Option<i64> {
    let mut number = 0;
    for (place, bit) in bits.iter().enumerate() {
        number |= i64::from(bit.constant()?) << place;
    }
    Some(kind.wrap(number))
}

pub(crate) fn either(graph: &mut Graph, condition: Lit, then: &[Lit], otherwise: &[Lit]) -> Bits {
    then.iter().zip(otherwise).map(|(&a, &b)| graph.either(condition, a, b)).collect()
}

pub(crate) fn equal(graph: &mut Graph, a: &[Lit], b: &[Lit]) -> Lit {
    let bits: Vec<Lit> = a.iter().zip(b).map(|(&a, &b)| graph.equal(a, b)).collect();
    graph.all(bits)
}

/// Whether a number is a constant.
pub(crate) fn is(graph: &mut Graph, a: &[Lit], number: i64, kind: Kind) -> Lit {
    let (least, most) = kind.range();
    if number < least || number > most {
        return FALSE;
    }
    let number = constant(number, a.len());
    equal(graph, a, &number)
}

/// The sum of two numbers and a bit, and what is carried out of it.
fn sum(graph: &mut Graph, a: &[Lit], b: &[Lit], carry: Lit) -> (Bits, Lit) {
    let mut carry = carry;
    let mut out = Bits::with_capacity(a.len());
    for (&a, &b) in a.iter().zip(b) {
        let half = graph.xor(a, b);
        out.push(graph.xor(half, carry));
        // Carried on if both are set, or one is and something came in.
        carry = graph.either(half, carry, a);
    }
    (out, carry)
}

fn complement(a: &[Lit]) -> Bits {
    a.iter().map(|&bit| !bit).collect()
}

pub(crate) fn add(graph: &mut Graph, a: &[Lit], b: &[Lit]) -> Bits {
    sum(graph, a, b, FALSE).0
}

pub(crate) fn subtract(graph: &mut Graph, a: &[Lit], b: &[Lit]) -> Bits {
    sum(graph, a, &complement(b), TRUE).0
}

pub(crate) fn negate(graph: &mut Graph, a: &[Lit]) -> Bits {
    let zero = vec![FALSE; a.len()];
    subtract(graph, &zero, a)
}

/// Less, of two numbers of a kind.
pub(crate) fn less(graph: &mut Graph, a: &[Lit], b: &[Lit], signed: bool) -> Lit {
    let mut less = FALSE;
    for place in 0..a.len() {
        let (mut low, mut high) = (a[place], b[place]);
        // In two's complement the highest bit counts the other way.
        if signed && place + 1 == a.len() {
            (low, high) = (high, low);
        }
        let differ = graph.xor(low, high);
        less = graph.either(differ, high, less);
    }
    less
}

pub(crate) fn multiply(graph: &mut Graph, a: &[Lit], b: &[Lit]) -> Bits {
    let mut out = vec![FALSE; a.len()];
    for (place, &bit) in b.iter().enumerate() {
        let shifted = a[..a.len() - place].iter().map(|&a| graph.and(a, bit));
        let shifted: Bits = shifted.collect();
        let high = add(graph, &out[place..], &shifted);
        out.truncate(place);
        out.extend(high);
    }
    out
}

/// The absolute value, as a number without a sign.
fn absolute(graph: &mut Graph, a: &[Lit]) -> Bits {
    let negative = negate(graph, a);
    either(graph, a[a.len() - 1], &negative, a)
}

/// Quotient and remainder of numbers without a sign, by long division; of a division by zero, anything.
fn divide_plain(graph: &mut Graph, a: &[Lit], b: &[Lit]) -> (Bits, Bits) {
    // One more bit, so that what is left over never overflows.
    let mut divisor = b.to_vec();
    divisor.push(FALSE);
    let mut rest = vec![FALSE; divisor.len()];
    let mut quotient = vec![FALSE; a.len()];
    for place in (0..a.len()).rev() {
        rest.pop();
        rest.insert(0, a[place]);
        let fits = !less(graph, &rest, &divisor, false);
        let smaller = subtract(graph, &rest, &divisor);
        rest = either(graph, fits, &smaller, &rest);
        quotient[place] = fits;
    }
    rest.pop();
    (quotient, rest)
}

/// Quotient and remainder, towards zero.
pub(crate) fn divide(graph: &mut Graph, a: &[Lit], b: &[Lit], signed: bool) -> (Bits, Bits) {
    let (mut quotient, mut rest);
    if signed {
        let (positive, divisor) = (absolute(graph, a), absolute(graph, b));
        (quotient, rest) = divide_plain(graph, &positive, &divisor);
        let (a_sign, b_sign) = (a[a.len() - 1], b[b.len() - 1]);
        let differ = graph.xor(a_sign, b_sign);
        let turned = negate(graph, &quotient);
        quotient = either(graph, differ, &turned, &quotient);
        let turned = negate(graph, &rest);
        rest = either(graph, a_sign, &turned, &rest);
    } else {
        (quotient, rest) = divide_plain(graph, a, b);
    }
    let by_zero = !graph.any(b.iter().copied());
    let zero = vec![FALSE; a.len()];
    (either(graph, by_zero, &zero, &quotient), either(graph, by_zero, a, &rest))
}

/// A number shifted by another, which may be of another kind; `fill` comes in.
pub(crate) fn shift(
    graph: &mut Graph,
    a: &[Lit],
    by: (&[Lit], Kind),
    left: bool,
    fill: Lit,
) -> Bits {
    let mut out = a.to_vec();
    let mut too_far = Vec::new();
    for (place, &bit) in by.0.iter().enumerate() {
        // The sign of a negative number counts as too far, as does every bit worth more than there are bits.
        let is_sign = by.1.is_signed() && place + 1 == by.0.len();
        if is_sign || place >= 31 || 1 << place >= a.len() {
            too_far.push(bit);
            continue;
        }
        let distance = 1 << place;
        let shifted: Bits = (0..out.len())
            .map(|to| match left {
                true => to.checked_sub(distance).map_or(FALSE, |from| out[from]),
                false => out.get(to + distance).copied().unwrap_or(fill),
            })
            .collect();
        out = either(graph, bit, &shifted, &out);
    }
    let too_far = graph.any(too_far);
    let all = vec![if left { FALSE } else { fill }; out.len()];
    either(graph, too_far, &all, &out)
}

/// A number as one of another kind.
pub(crate) fn cast(graph: &mut Graph, a: &[Lit], from: Kind, to: Kind) -> Bits {
    if to == Kind::Bool {
        return vec![graph.any(a.iter().copied())];
    }
    let high = if from.is_signed() { a[a.len() - 1] } else { FALSE };
    (0..to.bits()).map(|bit| a.get(bit).copied().unwrap_or(high)).collect()
}
