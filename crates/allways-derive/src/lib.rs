//! `#[derive(Rename)]` and `#[derive(Kinds)]`. Use them through the feature `derive` of `allways`.

mod kinds;

use proc_macro2::{Ident, TokenStream, TokenTree};
use quote::{ToTokens, format_ident, quote};
use syn::spanned::Spanned;
use syn::{Attribute, Data, DeriveInput, Error, Field, Fields, Member, Result, parse_quote};

/// Derives `allways::Rename`: renames every field of a struct, or of each variant of an enum.
///
/// A field with `#[rename(skip)]` is cloned instead: for a type that holds no ids and does not
/// implement `Rename`. A type parameter gets the bound `Rename` if a field that is renamed
/// mentions it, and `Clone` if a field that is skipped does.
///
/// ```
/// use allways::{Id, Rename, Renaming};
/// use std::time::Duration;
///
/// #[derive(Rename, PartialEq, Debug)]
/// enum Msg<V> {
///     Vote { round: u32, leader: Id },
///     Value(V, #[rename(skip)] Duration),
///     Stop,
/// }
///
/// let swap = Renaming::swap(2, 0, 1);
/// let vote: Msg<Id> = Msg::Vote { round: 7, leader: Id::new(0) };
/// assert_eq!(vote.rename(&swap), Msg::Vote { round: 7, leader: Id::new(1) });
/// let value = Msg::Value(Id::new(1), Duration::ZERO);
/// assert_eq!(value.rename(&swap), Msg::Value(Id::new(0), Duration::ZERO));
/// ```
///
/// A union cannot say which of its fields it holds:
///
/// ```compile_fail
/// #[derive(allways::Rename)]
/// union Either { small: u8, large: u64 }
/// ```
///
/// The attribute has its place on fields, and says `skip`:
///
/// ```compile_fail
/// #[derive(allways::Rename)]
/// struct Wrong { #[rename(skipped)] field: u8 }
/// ```
///
/// ```compile_fail
/// #[derive(allways::Rename)]
/// #[rename(skip)]
/// struct Misplaced { field: u8 }
/// ```
#[proc_macro_derive(Rename, attributes(rename))]
pub fn derive_rename(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

/// Derives `allways::Kinds`: the kinds of an enum are its variants, a struct is one.
///
/// ```
/// use allways::Kinds;
///
/// #[derive(Kinds)]
/// enum Msg<V> {
///     Prepare { ballot: u32 },
///     Accept(V),
///     Stop,
/// }
///
/// assert_eq!(Msg::<u8>::KINDS, ["Prepare", "Accept", "Stop"]);
/// assert_eq!(Msg::<u8>::Prepare { ballot: 1 }.kind(), Some("Prepare"));
/// # let _ = (Msg::Accept(1), Msg::<u8>::Stop);
/// ```
///
/// A union cannot say which of its fields it holds:
///
/// ```compile_fail
/// #[derive(allways::Kinds)]
/// union Either { small: u8, large: u64 }
/// ```
#[proc_macro_derive(Kinds)]
pub fn derive_kinds(input: proc_macro::TokenStream) -> proc_macro::TokenStream {
    let input = syn::parse_macro_input!(input as DeriveInput);
    kinds::expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> Result<TokenStream> {
    no_attribute(&input.attrs)?;
    let mut parameters = Parameters::of(input);
    let body = match &input.data {
        Data::Struct(data) => {
            let arm = arm(&quote!(Self), &data.fields, &mut parameters)?;
            quote!(match self { #arm })
        }
        // A reference to an empty enum still has to be matched by value.
        Data::Enum(data) if data.variants.is_empty() => quote!(match *self {}),
        Data::Enum(data) => {
            let mut arms = Vec::new();
            for variant in &data.variants {
                no_attribute(&variant.attrs)?;
                let name = &variant.ident;
                arms.push(arm(&quote!(Self::#name), &variant.fields, &mut parameters)?);
            }
            quote!(match self { #(#arms)* })
        }
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span,
                "`Rename` cannot be derived for a union: nothing says which field it holds",
            ));
        }
    };
    let mut generics = input.generics.clone();
    for parameter in generics.type_params_mut() {
        if parameters.renamed.contains(&parameter.ident) {
            parameter.bounds.push(parse_quote!(::allways::Rename));
        }
        if parameters.skipped.contains(&parameter.ident) {
            parameter.bounds.push(parse_quote!(::core::clone::Clone));
        }
    }
    let name = &input.ident;
    let (impl_generics, type_generics, where_clause) = generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::allways::Rename for #name #type_generics #where_clause {
            fn rename(&self, __renaming: &::allways::Renaming) -> Self {
                #body
            }
        }
    })
}

/// `path { field: binding, … } => path { field: renamed binding, … },`: the same for named fields,
/// tuples (whose fields are numbers) and units (which have none).
fn arm(path: &TokenStream, fields: &Fields, parameters: &mut Parameters) -> Result<TokenStream> {
    let mut patterns = Vec::new();
    let mut values = Vec::new();
    for (index, (member, field)) in fields.members().zip(fields).enumerate() {
        let binding = format_ident!("__field{index}");
        let skip = is_skipped(field)?;
        parameters.note(field, skip);
        let value = match skip {
            true => quote!(::core::clone::Clone::clone(#binding)),
            false => quote!(::allways::Rename::rename(#binding, __renaming)),
        };
        patterns.push(quote!(#member: #binding));
        values.push(match member {
            Member::Named(name) => quote!(#name: #value),
            Member::Unnamed(_) => value,
        });
    }
    let result = match fields {
        Fields::Named(_) => quote!(#path { #(#values),* }),
        Fields::Unnamed(_) => quote!(#path(#(#values),*)),
        Fields::Unit => quote!(#path),
    };
    Ok(quote!(#path { #(#patterns),* } => #result,))
}

/// Whether a field says `#[rename(skip)]`.
fn is_skipped(field: &Field) -> Result<bool> {
    let mut skip = false;
    for attribute in field.attrs.iter().filter(|a| a.path().is_ident("rename")) {
        attribute.parse_nested_meta(|meta| {
            skip |= meta.path.is_ident("skip");
            match meta.path.is_ident("skip") {
                true => Ok(()),
                false => Err(meta.error("the only thing to say here is `#[rename(skip)]`")),
            }
        })?;
    }
    Ok(skip)
}

/// The attribute means something on fields only.
fn no_attribute(attributes: &[Attribute]) -> Result<()> {
    match attributes.iter().find(|a| a.path().is_ident("rename")) {
        Some(attribute) => {
            Err(Error::new(attribute.span(), "`#[rename(skip)]` belongs on a field"))
        }
        None => Ok(()),
    }
}

/// Which type parameters appear in which fields.
struct Parameters {
    all: Vec<Ident>,
    renamed: Vec<Ident>,
    skipped: Vec<Ident>,
}

impl Parameters {
    fn of(input: &DeriveInput) -> Self {
        let all = input.generics.type_params().map(|parameter| parameter.ident.clone()).collect();
        Parameters { all, renamed: Vec::new(), skipped: Vec::new() }
    }

    fn note(&mut self, field: &Field, skip: bool) {
        let noted = if skip { &mut self.skipped } else { &mut self.renamed };
        idents(field.ty.to_token_stream(), &mut |ident| {
            if self.all.contains(&ident) {
                noted.push(ident);
            }
        });
    }
}

/// All identifiers in some tokens.
fn idents(tokens: TokenStream, found: &mut impl FnMut(Ident)) {
    for token in tokens {
        match token {
            TokenTree::Ident(ident) => found(ident),
            TokenTree::Group(group) => idents(group.stream(), found),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}
