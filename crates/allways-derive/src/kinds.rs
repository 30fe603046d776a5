//! `#[derive(Kinds)]`: the names of the variants, and of the one that a value is.

use proc_macro2::TokenStream;
use quote::quote;
use syn::ext::IdentExt;
use syn::{Data, DeriveInput, Error, Result};

pub(crate) fn expand(input: &DeriveInput) -> Result<TokenStream> {
    let name = &input.ident;
    let (kinds, body) = match &input.data {
        Data::Struct(_) => {
            let kind = name.unraw().to_string();
            (vec![kind.clone()], quote!(::core::option::Option::Some(#kind)))
        }
        // A reference to an empty enum still has to be matched by value.
        Data::Enum(data) if data.variants.is_empty() => (Vec::new(), quote!(match *self {})),
        Data::Enum(data) => {
            let variants: Vec<_> = data.variants.iter().map(|variant| &variant.ident).collect();
            let kinds: Vec<_> = variants.iter().map(|name| name.unraw().to_string()).collect();
            let body = quote!(::core::option::Option::Some(match self {
                #(Self::#variants { .. } => #kinds,)*
            }));
            (kinds, body)
        }
        Data::Union(data) => {
            return Err(Error::new(
                data.union_token.span,
                "`Kinds` cannot be derived for a union: nothing says which field it holds",
            ));
        }
    };
    let (impl_generics, type_generics, where_clause) = input.generics.split_for_impl();
    Ok(quote! {
        #[automatically_derived]
        impl #impl_generics ::allways::Kinds for #name #type_generics #where_clause {
            const KINDS: &'static [&'static str] = &[#(#kinds),*];

            fn kind(&self) -> ::core::option::Option<&'static str> {
                #body
            }
        }
    })
}
