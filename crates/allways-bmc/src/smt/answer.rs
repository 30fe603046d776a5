//! What a solver answers: one word, then a list of terms with their values.

/// The values of a `get-value` answer, in order; `None` if it is none.
pub(super) fn values(text: &str) -> Option<Vec<i64>> {
    let mut tokens = Tokens(text);
    let Item::List(pairs) = item(&mut tokens, 0)? else { return None };
    pairs.into_iter().map(|pair| pair.value()).collect()
}

enum Item {
    Word(String),
    List(Vec<Item>),
}

impl Item {
    /// The value in a pair of a term and a value.
    fn value(&self) -> Option<i64> {
        match self {
            Item::List(items) if items.len() == 2 => items[1].number(),
            _ => None,
        }
    }

    fn word(&self) -> Option<&str> {
        match self {
            Item::Word(word) => Some(word),
            Item::List(_) => None,
        }
    }

    fn number(&self) -> Option<i64> {
        match self {
            Item::Word(word) => match word.as_str() {
                "true" => Some(1),
                "false" => Some(0),
                word => match word.get(..2) {
                    Some("#b") => i64::from_str_radix(&word[2..], 2).ok(),
                    Some("#x") => i64::from_str_radix(&word[2..], 16).ok(),
                    _ => word.parse().ok(),
                },
            },
            Item::List(items) => match (items.first()?.word()?, items.get(1)?) {
                ("-", number) => Some(-number.number()?),
                ("_", number) => number.word()?.strip_prefix("bv")?.parse().ok(),
                _ => None,
            },
        }
    }
}

struct Tokens<'a>(&'a str);

impl<'a> Iterator for Tokens<'a> {
    type Item = &'a str;

    fn next(&mut self) -> Option<&'a str> {
        self.0 = self.0.trim_start();
        let first = self.0.chars().next()?;
        let end = match first {
            '(' | ')' => 1,
            _ => self
                .0
                .find(|c: char| c.is_whitespace() || c == '(' || c == ')')
                .unwrap_or(self.0.len()),
        };
        let (token, rest) = self.0.split_at(end);
        self.0 = rest;
        Some(token)
    }
}

/// Answers are flat; whatever is deeper than this is none.
const MAX_DEPTH: usize = 100;

fn item(tokens: &mut Tokens<'_>, depth: usize) -> Option<Item> {
    match tokens.next()? {
        ")" => None,
        "(" if depth < MAX_DEPTH => {
            let mut items = Vec::new();
            loop {
                let mut ahead = Tokens(tokens.0);
                if ahead.next()? == ")" {
                    *tokens = ahead;
                    return Some(Item::List(items));
                }
                items.push(item(tokens, depth + 1)?);
            }
        }
        "(" => None,
        word => Some(Item::Word(word.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::values;

    #[test]
    fn values_of_all_solvers_are_read() {
        let text = "((x 5) (y (- 7)) (z true) ((select a 3) #b0101)\n (b #xff) (c (_ bv9 8)))";
        assert_eq!(values(text), Some(vec![5, -7, 1, 5, 255, 9]));
        for wrong in ["", "(", "sat", "((x 5)", "((x y))", "(error \"no model\")", ")", "((x))"] {
            assert_eq!(values(wrong), None, "{wrong}");
        }
        assert_eq!(values(&"(".repeat(100_000)), None);
    }
}
