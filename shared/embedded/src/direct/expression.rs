//! Expressions: conditions, updates and projections, as trees.
//!
//! The grammar has what Minutehand sends. It knows attributes of items only, not what lists and maps in
//! them hold. What it does not know it does not parse.

use std::collections::HashSet;

/// A parsed expression.
#[derive(Debug)]
pub(super) struct Parsed<T> {
    pub(super) tree: T,
    /// The attributes that it names.
    pub(super) names: Vec<String>,
    /// The aliases of attributes that it names, as `#alias`.
    pub(super) aliases: Vec<String>,
    /// The values that it names, as `:value`.
    pub(super) values: Vec<String>,
}

/// An attribute: its name, or an alias of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Attribute {
    Name(String),
    Alias(String),
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Operand {
    Attribute(Attribute),
    Value(String),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Comparison {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Condition {
    Compare(Operand, Comparison, Operand),
    Between(Operand, Operand, Operand),
    In(Operand, Vec<Operand>),
    Exists(Attribute),
    Missing(Attribute),
    BeginsWith(Operand, Operand),
    And(Box<Condition>, Box<Condition>),
    Or(Box<Condition>, Box<Condition>),
    Not(Box<Condition>),
}

/// What an attribute is set to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Term {
    Operand(Operand),
    /// The attribute, or the operand if there is no such attribute.
    IfMissing(Attribute, Operand),
    Plus(Box<Term>, Box<Term>),
    Minus(Box<Term>, Box<Term>),
}

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Update {
    pub(super) set: Vec<(Attribute, Term)>,
    pub(super) remove: Vec<Attribute>,
}

/// Parses a condition, a filter, or a condition on keys.
pub(super) fn condition(text: &str) -> Option<Parsed<Condition>> {
    parse(text, Parser::any)
}

pub(super) fn update(text: &str) -> Option<Parsed<Update>> {
    parse(text, Parser::update)
}

pub(super) fn projection(text: &str) -> Option<Parsed<Vec<Attribute>>> {
    parse(text, |parser| parser.list(Parser::attribute))
}

fn parse<'a, T>(
    text: &'a str,
    read: impl FnOnce(&mut Parser<'a>) -> Option<T>,
) -> Option<Parsed<T>> {
    let tokens = tokens(text)?;
    let named = |kind: char| {
        let mut seen = HashSet::new();
        let names = tokens.iter().filter(|token| token.starts_with(kind));
        names.filter(|token| seen.insert(**token)).map(|token| (*token).to_owned()).collect()
    };
    let (aliases, values) = (named('#'), named(':'));
    let mut parser = Parser { tokens, at: 0, names: Vec::new() };
    let tree = read(&mut parser)?;
    let is_read = parser.peek().is_none();
    is_read.then_some(Parsed { tree, names: parser.names, aliases, values })
}

/// Splits an expression into names, aliases, values and symbols.
fn tokens(text: &str) -> Option<Vec<&str>> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut tokens = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let length = match first {
            '#' | ':' => 1 + rest.get(1..)?.find(|c| !is_part(c)).unwrap_or(rest.len() - 1),
            _ if is_part(first) => rest.find(|c| !is_part(c)).unwrap_or(rest.len()),
            '<' if rest.starts_with("<>") || rest.starts_with("<=") => 2,
            '>' if rest.starts_with(">=") => 2,
            '(' | ')' | ',' | '=' | '<' | '>' | '+' | '-' => 1,
            _ => return None,
        };
        let (token, after) = rest.split_at_checked(length)?;
        tokens.push(token);
        rest = after.trim_start();
    }
    Some(tokens)
}

/// Reads a tree from tokens.
struct Parser<'a> {
    tokens: Vec<&'a str>,
    /// The position of the next token.
    at: usize,
    /// The attributes that were named so far.
    names: Vec<String>,
}

impl<'a> Parser<'a> {
    fn next(&mut self) -> Option<&'a str> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn peek(&self) -> Option<&'a str> {
        self.tokens.get(self.at).copied()
    }

    /// Returns whether a function is next.
    fn calls(&self) -> bool {
        self.tokens.get(self.at + 1) == Some(&"(")
    }

    /// Skips a symbol or a word, if it is next.
    fn skip(&mut self, token: &str) -> bool {
        let is_next = self.peek().is_some_and(|next| next.eq_ignore_ascii_case(token));
        if is_next {
            self.next();
        }
        is_next
    }

    fn expect(&mut self, token: &str) -> Option<()> {
        self.skip(token).then_some(())
    }

    fn list<T>(&mut self, read: impl Fn(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        let mut list = vec![read(self)?];
        while self.skip(",") {
            list.push(read(self)?);
        }
        Some(list)
    }

    fn attribute(&mut self) -> Option<Attribute> {
        let token = self.next()?;
        match token.chars().next()? {
            '#' => Some(Attribute::Alias(token.to_owned())),
            c if c.is_ascii_alphabetic() || c == '_' => {
                self.names.push(token.to_owned());
                Some(Attribute::Name(token.to_owned()))
            }
            _ => None,
        }
    }

    fn operand(&mut self) -> Option<Operand> {
        if self.calls() {
            // A function that this grammar does not have.
            return None;
        }
        if self.peek()?.starts_with(':') {
            return Some(Operand::Value(self.next()?.to_owned()));
        }
        self.attribute().map(Operand::Attribute)
    }

    fn any(&mut self) -> Option<Condition> {
        let mut left = self.all()?;
        while self.skip("OR") {
            left = Condition::Or(Box::new(left), Box::new(self.all()?));
        }
        Some(left)
    }

    fn all(&mut self) -> Option<Condition> {
        let mut left = self.not()?;
        while self.skip("AND") {
            left = Condition::And(Box::new(left), Box::new(self.not()?));
        }
        Some(left)
    }

    fn not(&mut self) -> Option<Condition> {
        if self.skip("NOT") {
            return Some(Condition::Not(Box::new(self.not()?)));
        }
        if self.skip("(") {
            let inner = self.any()?;
            self.expect(")")?;
            return Some(inner);
        }
        if self.calls() {
            return self.function();
        }
        self.comparison()
    }

    fn function(&mut self) -> Option<Condition> {
        let name = self.next()?;
        self.expect("(")?;
        let function = match name {
            "attribute_exists" => Condition::Exists(self.attribute()?),
            "attribute_not_exists" => Condition::Missing(self.attribute()?),
            "begins_with" => {
                let text = self.operand()?;
                self.expect(",")?;
                Condition::BeginsWith(text, self.operand()?)
            }
            _ => return None,
        };
        self.expect(")")?;
        Some(function)
    }

    fn comparison(&mut self) -> Option<Condition> {
        let left = self.operand()?;
        if self.skip("BETWEEN") {
            let low = self.operand()?;
            self.expect("AND")?;
            return Some(Condition::Between(left, low, self.operand()?));
        }
        if self.skip("IN") {
            self.expect("(")?;
            let list = self.list(Self::operand)?;
            self.expect(")")?;
            return Some(Condition::In(left, list));
        }
        let comparison = match self.next()? {
            "=" => Comparison::Equal,
            "<>" => Comparison::NotEqual,
            "<" => Comparison::Less,
            "<=" => Comparison::LessOrEqual,
            ">" => Comparison::Greater,
            ">=" => Comparison::GreaterOrEqual,
            _ => return None,
        };
        Some(Condition::Compare(left, comparison, self.operand()?))
    }

    fn update(&mut self) -> Option<Update> {
        let mut update = Update::default();
        while let Some(action) = self.next() {
            if action.eq_ignore_ascii_case("SET") && update.set.is_empty() {
                update.set = self.list(Self::assignment)?;
            } else if action.eq_ignore_ascii_case("REMOVE") && update.remove.is_empty() {
                update.remove = self.list(Self::attribute)?;
            } else {
                return None;
            }
        }
        Some(update)
    }

    fn assignment(&mut self) -> Option<(Attribute, Term)> {
        let attribute = self.attribute()?;
        self.expect("=")?;
        let left = self.term()?;
        let term = if self.skip("+") {
            Term::Plus(Box::new(left), Box::new(self.term()?))
        } else if self.skip("-") {
            Term::Minus(Box::new(left), Box::new(self.term()?))
        } else {
            left
        };
        Some((attribute, term))
    }

    fn term(&mut self) -> Option<Term> {
        if self.calls() && self.skip("if_not_exists") {
            self.expect("(")?;
            let attribute = self.attribute()?;
            self.expect(",")?;
            let otherwise = self.operand()?;
            self.expect(")")?;
            return Some(Term::IfMissing(attribute, otherwise));
        }
        self.operand().map(Term::Operand)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(name: &str) -> Attribute {
        Attribute::Name(name.to_owned())
    }

    fn value(name: &str) -> Operand {
        Operand::Value(name.to_owned())
    }

    #[test]
    fn and_binds_closer_than_or_and_not_closer_than_both() {
        let compare = |attribute: &str| {
            let attribute = Operand::Attribute(name(attribute));
            Condition::Compare(attribute, Comparison::Equal, value(":v"))
        };
        let parsed = condition("a = :v OR NOT b = :v AND (c = :v OR d=:v)").unwrap();
        let inner = Condition::Or(Box::new(compare("c")), Box::new(compare("d")));
        let not = Condition::Not(Box::new(compare("b")));
        let and = Condition::And(Box::new(not), Box::new(inner));
        assert_eq!(parsed.tree, Condition::Or(Box::new(compare("a")), Box::new(and)));
        assert_eq!(parsed.values, [":v"]);
    }

    #[test]
    fn the_and_of_between_is_not_the_and_of_conditions() {
        let parsed = condition("pk = :pk AND sk BETWEEN :from AND :until").unwrap();
        let Condition::And(_, between) = parsed.tree else { panic!("{:?}", parsed.tree) };
        let sk = Operand::Attribute(name("sk"));
        assert_eq!(*between, Condition::Between(sk, value(":from"), value(":until")));
        assert_eq!(parsed.values, [":pk", ":from", ":until"]);
    }

    #[test]
    fn an_update_sets_and_removes() {
        let parsed =
            update("SET #n = if_not_exists(n, :none) + :by, a = :by REMOVE b, #c").unwrap();
        let sum = Term::Plus(
            Box::new(Term::IfMissing(name("n"), value(":none"))),
            Box::new(Term::Operand(value(":by"))),
        );
        assert_eq!(
            parsed.tree,
            Update {
                set: vec![
                    (Attribute::Alias("#n".to_owned()), sum),
                    (name("a"), Term::Operand(value(":by"))),
                ],
                remove: vec![name("b"), Attribute::Alias("#c".to_owned())],
            }
        );
        assert_eq!(parsed.aliases, ["#n", "#c"]);
    }

    #[test]
    fn what_the_grammar_lacks_is_not_parsed() {
        for text in
            ["a.b = :v", "a[0] = :v", "size(a) > :v", "contains(a, :v)", "a =", "(a = :v", ""]
        {
            assert!(condition(text).is_none(), "{text}");
        }
        for text in
            ["ADD a :v", "DELETE a :v", "SET a.b = :v", "SET a = list_append(a, :v)", "SET a = :v,"]
        {
            assert!(update(text).is_none(), "{text}");
        }
        assert!(projection("a, b.c").is_none());
        assert!(projection("a, #b").is_some());
    }
}
