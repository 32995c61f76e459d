//! The attribute of a port of the store.
//!
//! Only `ports` uses it. It never knows what a method does.
//!
//! It makes an async trait of a trait, and generates the layer of the port: a second trait with the same
//! methods, each of which calls the store beneath through one interceptor. A type that implements the
//! layer is the port, and writes down only the methods that it does otherwise.

use proc_macro::TokenStream;
use proc_macro2::TokenStream as Tokens;
use quote::{format_ident, quote};
use syn::{
    Attribute, Error, FnArg, Ident, ItemTrait, Pat, Result, ReturnType, TraitItem, TraitItemFn,
    Type, parse_macro_input,
};

/// Makes a trait a port of the store.
#[proc_macro_attribute]
pub fn port(_: TokenStream, item: TokenStream) -> TokenStream {
    let port = parse_macro_input!(item as ItemTrait);
    let layer = layer(&port).unwrap_or_else(Error::into_compile_error);
    quote! {
        #[::async_trait::async_trait]
        #port
        #layer
    }
    .into()
}

/// A method of a port.
struct Method<'a> {
    docs: Vec<&'a Attribute>,
    name: &'a Ident,
    /// Whether it is asked of the store without waiting.
    is_plain: bool,
    /// Whether it may fail.
    is_fallible: bool,
    arguments: Vec<(Ident, &'a Type)>,
    answer: &'a Type,
}

fn layer(port: &ItemTrait) -> Result<Tokens> {
    let name = &port.ident;
    let layer = format_ident!("{name}Layer");
    let methods = port.items.iter().map(|item| match item {
        TraitItem::Fn(method) => Method::of(method),
        other => Err(Error::new_spanned(other, "a port has methods alone")),
    });
    let methods: Vec<Method<'_>> = methods.collect::<Result<_>>()?;
    let forwarding = methods.iter().map(|method| method.forwarding(name));
    let delegating = methods.iter().map(|method| method.delegating(&layer));
    let doc =
        format!("A layer over [`{name}`]: what it does not write down, the store beneath does.");
    Ok(quote! {
        #[doc = #doc]
        #[::async_trait::async_trait]
        pub trait #layer: crate::store::Layer<Inner: #name> {
            #(#forwarding)*
        }

        #[::async_trait::async_trait]
        impl<L: #layer> #name for L {
            #(#delegating)*
        }
    })
}

impl<'a> Method<'a> {
    fn of(method: &'a TraitItemFn) -> Result<Self> {
        let signature = &method.sig;
        let ReturnType::Type(_, answer) = &signature.output else {
            return Err(Error::new_spanned(signature, "a method of a port answers"));
        };
        let mut arguments = Vec::new();
        for input in &signature.inputs {
            let FnArg::Typed(typed) = input else { continue };
            let Pat::Ident(it) = &*typed.pat else {
                return Err(Error::new_spanned(typed, "an argument of a port has a name"));
            };
            // A default that does not use an argument names it with an underscore.
            let plain = it.ident.to_string();
            arguments.push((format_ident!("{}", plain.trim_start_matches('_')), &*typed.ty));
        }
        let is_result =
            |path: &syn::TypePath| path.path.segments.last().is_some_and(|it| it.ident == "Result");
        Ok(Self {
            docs: method.attrs.iter().filter(|it| it.path().is_ident("doc")).collect(),
            name: &signature.ident,
            is_plain: signature.asyncness.is_none(),
            is_fallible: matches!(&**answer, Type::Path(path) if is_result(path)),
            arguments,
            answer,
        })
    }

    /// The names and the types of the arguments, as a signature has them.
    fn signature(&self) -> Tokens {
        let Self { name, answer, .. } = self;
        let arguments = self.arguments.iter().map(|(name, of)| quote!(#name: #of));
        quote!(fn #name(&self, #(#arguments),*) -> #answer)
    }

    /// The method of the layer, which calls the store beneath.
    fn forwarding(&self, port: &Ident) -> Tokens {
        let Self { docs, name, .. } = self;
        let signature = self.signature();
        let arguments: Vec<&Ident> = self.arguments.iter().map(|(name, _)| name).collect();
        if self.is_plain {
            return quote! {
                #(#docs)*
                #signature {
                    #port::#name(&*crate::store::Layer::inner(self), #(#arguments),*)
                }
            };
        }
        let hook = if self.is_fallible { "try_call" } else { "call" };
        let hook = format_ident!("{hook}");
        quote! {
            #(#docs)*
            async #signature {
                let call = move |inner: ::std::sync::Arc<Self::Inner>| {
                    #(let #arguments = ::core::clone::Clone::clone(&#arguments);)*
                    let answer = async move { #port::#name(&*inner, #(#arguments),*).await };
                    ::std::boxed::Box::pin(answer) as crate::store::Answering<'_, _>
                };
                crate::store::Layer::#hook(self, call).await
            }
        }
    }

    /// The method of the port for a type that is a layer: it calls the layer's method of the same name.
    fn delegating(&self, layer: &Ident) -> Tokens {
        let (name, signature) = (self.name, self.signature());
        let arguments = self.arguments.iter().map(|(name, _)| name);
        if self.is_plain {
            return quote!(#signature { #layer::#name(self, #(#arguments),*) });
        }
        quote!(async #signature { #layer::#name(self, #(#arguments),*).await })
    }
}
