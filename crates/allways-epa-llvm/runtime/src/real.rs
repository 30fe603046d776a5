//! The functions of the C library whose place is taken: where they are.

use std::ffi::{CStr, c_void};
use std::sync::atomic::{AtomicPtr, Ordering};

/// A function of the C library.
pub struct Real {
    name: &'static CStr,
    address: AtomicPtr<c_void>,
}

impl Real {
    /// The function with this name.
    pub const fn new(name: &'static CStr) -> Self {
        Real { name, address: AtomicPtr::new(std::ptr::null_mut()) }
    }

    /// Where it is: found out once. Threads that ask at the same time get the same answer.
    pub fn address(&self) -> *mut c_void {
        let known = self.address.load(Ordering::Relaxed);
        if !known.is_null() {
            return known;
        }
        // SAFETY: the names are C strings. Condition variables have had another layout once, and the functions for it are still
        // there: so the version is asked for first.
        let found = unsafe {
            let found = if cfg!(target_arch = "x86_64")
                && self.name.to_bytes().starts_with(b"pthread_cond_")
            {
                libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), c"GLIBC_2.3.2".as_ptr())
            } else {
                std::ptr::null_mut()
            };
            if found.is_null() { libc::dlsym(libc::RTLD_NEXT, self.name.as_ptr()) } else { found }
        };
        if found.is_null() {
            // There is nothing else that the program could have meant.
            std::process::abort();
        }
        self.address.store(found, Ordering::Relaxed);
        found
    }
}

/// Calls the function of the C library with this name: `real!(c"pthread_join", fn(a: A, b: B) -> R)`.
#[macro_export]
macro_rules! real {
    ($name:literal, fn($($argument:ident: $type:ty),* $(,)?) -> $result:ty) => {{
        static REAL: $crate::real::Real = $crate::real::Real::new($name);
        // SAFETY: the C library has a function with this name and this type, and the arguments are those that the
        // program gave to it.
        unsafe {
            let function = std::mem::transmute::<
                *mut std::ffi::c_void,
                unsafe extern "C-unwind" fn($($type),*) -> $result,
            >(REAL.address());
            function($($argument),*)
        }
    }};
}
