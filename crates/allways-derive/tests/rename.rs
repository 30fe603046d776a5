//! What `#[derive(Rename)]` makes of every shape of type.

use allways::{ByNode, Id, Rename, Renaming};
use std::collections::BTreeSet;
use std::marker::PhantomData;

fn swap() -> Renaming {
    Renaming::swap(3, 0, 2)
}

fn id(index: usize) -> Id {
    Id::new(index)
}

/// Neither `Rename` nor anything that could hold an id.
#[derive(Clone, PartialEq, Debug)]
struct Opaque(f64);

#[test]
fn a_struct_with_named_fields() {
    #[derive(Rename, PartialEq, Debug)]
    struct Server {
        leader: Option<Id>,
        r#type: u8,
        votes: BTreeSet<Id>,
        acks: ByNode<bool>,
        #[rename(skip)]
        load: Opaque,
    }
    let server = |leader, votes: [usize; 2], acks| Server {
        leader: Some(id(leader)),
        r#type: 1,
        votes: votes.into_iter().map(Id::new).collect(),
        acks: ByNode::from(acks),
        load: Opaque(0.5),
    };
    let before = server(0, [0, 1], vec![true, false, false]);
    assert_eq!(before.rename(&swap()), server(2, [1, 2], vec![false, false, true]));
}

#[test]
fn tuple_and_unit_structs() {
    #[derive(Rename, PartialEq, Debug)]
    struct Ballot(u32, Id);
    #[derive(Rename, PartialEq, Debug)]
    struct Nothing;
    #[derive(Rename, PartialEq, Debug)]
    struct Braces {}
    #[derive(Rename, PartialEq, Debug)]
    struct Parentheses();
    assert_eq!(Ballot(7, id(2)).rename(&swap()), Ballot(7, id(0)));
    assert_eq!(Nothing.rename(&swap()), Nothing);
    assert_eq!(Braces {}.rename(&swap()), Braces {});
    assert_eq!(Parentheses().rename(&swap()), Parentheses());
}

#[test]
fn an_enum_with_every_kind_of_variant() {
    #[derive(Rename, PartialEq, Debug)]
    enum Msg {
        Ask,
        Tell(Id, #[rename(skip)] Opaque),
        Pass { renaming: Id, more: Box<Msg> },
    }
    let pass =
        |to, tell| Msg::Pass { renaming: id(to), more: Box::new(Msg::Tell(id(tell), Opaque(1.5))) };
    assert_eq!(pass(0, 2).rename(&swap()), pass(2, 0));
    assert_eq!(Msg::Ask.rename(&swap()), Msg::Ask);
}

#[test]
fn an_enum_without_variants() {
    #[derive(Rename)]
    enum Nobody {}
    fn renames<T: Rename>() {}
    renames::<Nobody>();
    renames::<Option<Nobody>>();
}

#[test]
fn type_parameters_get_the_bound_that_their_fields_need() {
    #[derive(Rename, PartialEq, Debug)]
    struct Log<'a, T, S, const L: usize>
    where
        T: PartialEq,
    {
        entries: [Vec<T>; L],
        #[rename(skip)]
        kind: PhantomData<&'a S>,
        #[rename(skip)]
        extra: (),
    }
    // `Opaque` is not `Rename`: a parameter that is only skipped need not be.
    let log = |at| Log::<Id, Opaque, 1> { entries: [vec![id(at)]], kind: PhantomData, extra: () };
    assert_eq!(log(0).rename(&swap()), log(2));

    #[derive(Rename, PartialEq, Debug)]
    enum Either<A, B> {
        Left(A),
        Right {
            #[rename(skip)]
            it: B,
        },
    }
    assert_eq!(Either::<Id, Opaque>::Left(id(0)).rename(&swap()), Either::Left(id(2)));
    let right = || Either::<Id, Opaque>::Right { it: Opaque(2.5) };
    assert_eq!(right().rename(&swap()), right());
}
