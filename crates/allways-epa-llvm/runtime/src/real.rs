//! The functions of the C library whose place is taken: where they are.
//!
//! All of them are looked up when the process begins. To look one up can allocate (the text of an error, where a name or a version is not
//! known), and that would be an allocation of the thread that happens to be the first to need it.

use std::ffi::{CStr, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};

/// The names of all of them.
const NAMES: [&CStr; 55] = [
    c"_Fork",
    c"clone",
    c"cnd_broadcast",
    c"cnd_destroy",
    c"cnd_init",
    c"cnd_signal",
    c"cnd_timedwait",
    c"cnd_wait",
    c"mtx_destroy",
    c"mtx_init",
    c"mtx_lock",
    c"mtx_timedlock",
    c"mtx_trylock",
    c"mtx_unlock",
    c"pthread_barrier_destroy",
    c"pthread_barrier_init",
    c"pthread_barrier_wait",
    c"pthread_clockjoin_np",
    c"pthread_cond_broadcast",
    c"pthread_cond_clockwait",
    c"pthread_cond_destroy",
    c"pthread_cond_init",
    c"pthread_cond_signal",
    c"pthread_cond_timedwait",
    c"pthread_cond_wait",
    c"pthread_create",
    c"pthread_join",
    c"pthread_mutex_clocklock",
    c"pthread_mutex_destroy",
    c"pthread_mutex_init",
    c"pthread_mutex_lock",
    c"pthread_mutex_timedlock",
    c"pthread_mutex_trylock",
    c"pthread_mutex_unlock",
    c"pthread_rwlock_clockrdlock",
    c"pthread_rwlock_clockwrlock",
    c"pthread_rwlock_destroy",
    c"pthread_rwlock_init",
    c"pthread_rwlock_rdlock",
    c"pthread_rwlock_timedrdlock",
    c"pthread_rwlock_timedwrlock",
    c"pthread_rwlock_tryrdlock",
    c"pthread_rwlock_trywrlock",
    c"pthread_rwlock_unlock",
    c"pthread_rwlock_wrlock",
    c"pthread_spin_destroy",
    c"pthread_spin_init",
    c"pthread_spin_lock",
    c"pthread_spin_trylock",
    c"pthread_spin_unlock",
    c"pthread_timedjoin_np",
    c"pthread_tryjoin_np",
    c"quick_exit",
    c"thrd_create",
    c"thrd_join",
];

static ADDRESSES: [AtomicPtr<c_void>; NAMES.len()] =
    [const { AtomicPtr::new(null_mut()) }; NAMES.len()];

/// The place of a name in the list. That it is there is checked by the compiler.
pub const fn place(name: &CStr) -> usize {
    let wanted = name.to_bytes();
    let mut at = 0;
    while at < NAMES.len() {
        let known = NAMES[at].to_bytes();
        let mut same = 0;
        while same < known.len() && same < wanted.len() && known[same] == wanted[same] {
            same += 1;
        }
        if same == known.len() && same == wanted.len() {
            return at;
        }
        at += 1;
    }
    panic!("the function is not in the list")
}

fn find(at: usize) -> *mut c_void {
    let name = NAMES[at];
    // SAFETY: the names are C strings. Condition variables have had another layout once, and the functions for it are still
    // there: so the version is asked for first.
    unsafe {
        let is_versioned =
            cfg!(target_arch = "x86_64") && name.to_bytes().starts_with(b"pthread_cond_");
        let found = match is_versioned {
            true => libc::dlvsym(libc::RTLD_NEXT, name.as_ptr(), c"GLIBC_2.3.2".as_ptr()),
            false => null_mut(),
        };
        if found.is_null() { libc::dlsym(libc::RTLD_NEXT, name.as_ptr()) } else { found }
    }
}

/// Looks all of them up. One that this C library does not have stays unknown: nobody can call it.
pub fn find_all() {
    for (at, address) in ADDRESSES.iter().enumerate() {
        address.store(find(at), Ordering::Relaxed);
    }
    // What is not there is no error that the program should be told of when it asks for its own.
    // SAFETY: it has no conditions.
    unsafe { libc::dlerror() };
}

/// Where one of them is.
#[inline]
pub fn address(at: usize) -> *mut c_void {
    let known = ADDRESSES[at].load(Ordering::Relaxed);
    if known.is_null() { before_begin(at) } else { known }
}

/// Something calls it before the process has begun.
#[cold]
fn before_begin(at: usize) -> *mut c_void {
    let found = find(at);
    if found.is_null() {
        // There is nothing else that the program could have meant.
        std::process::abort();
    }
    ADDRESSES[at].store(found, Ordering::Relaxed);
    found
}

/// Calls the function of the C library with this name: `real!(c"pthread_join", fn(a: A, b: B) -> R)`.
#[macro_export]
macro_rules! real {
    ($name:literal, fn($($argument:ident: $type:ty),* $(,)?) -> $result:ty) => {{
        const AT: usize = $crate::real::place($name);
        // SAFETY: the C library has a function with this name and this type, and the arguments are those that the
        // program gave to it.
        unsafe {
            let function = std::mem::transmute::<
                *mut std::ffi::c_void,
                unsafe extern "C-unwind" fn($($type),*) -> $result,
            >($crate::real::address(AT));
            function($($argument),*)
        }
    }};
}
