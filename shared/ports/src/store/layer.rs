//! Layers over a store, for tests: faults, counts of calls, two stores side by side.
//!
//! Each port `X` has a layer `XLayer`, which its attribute generates. A type that implements [`Layer`] and
//! `XLayer` is an `X`. Its calls go through the interceptor of [`Layer`] to the store beneath, and only
//! the methods that it does otherwise are written down.

use std::fmt::Debug;
use std::pin::Pin;
use std::sync::Arc;

use super::StoreError;

/// An answer that is waited for.
pub type Answering<'a, A> = Pin<Box<dyn Future<Output = A> + Send + 'a>>;

/// A call that can be made of a store, as often as the layer wants.
pub trait Call<'a, I: ?Sized, A>: Fn(Arc<I>) -> Answering<'a, A> + Send + Sync + 'a {}

impl<'a, I: ?Sized, A, F: Fn(Arc<I>) -> Answering<'a, A> + Send + Sync + 'a> Call<'a, I, A> for F {}

/// The interceptor of all calls to the store beneath a layer.
pub trait Layer: Send + Sync {
    /// The store beneath.
    type Inner: ?Sized + Send + Sync + 'static;

    /// The store beneath.
    fn inner(&self) -> Arc<Self::Inner>;

    /// Makes a call that may fail.
    fn try_call<'a, T: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, Self::Inner, Result<T, StoreError>>,
    ) -> impl Future<Output = Result<T, StoreError>> + Send + 'a {
        call(self.inner())
    }

    /// Makes a call that does not fail as a whole.
    fn call<'a, A: Debug + Send + 'a>(
        &'a self,
        call: impl Call<'a, Self::Inner, A>,
    ) -> impl Future<Output = A> + Send + 'a {
        call(self.inner())
    }
}
