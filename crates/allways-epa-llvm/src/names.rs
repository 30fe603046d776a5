//! Names of functions as people write them.

/// The readable name of a function: that of C++ and Rust without their mangling, and any other as it is.
///
/// A mangled name of Rust has a hash at its end, which would differ between builds: it is left out.
pub fn readable(name: &str) -> String {
    if let Ok(name) = rustc_demangle::try_demangle(name) {
        return format!("{name:#}");
    }
    if name.starts_with("_Z")
        && let Ok(symbol) = cpp_demangle::Symbol::new(name)
        && let Ok(name) = symbol.demangle()
    {
        return name.to_string();
    }
    name.to_owned()
}

#[cfg(test)]
mod tests {
    use super::readable;

    #[test]
    fn names_of_three_languages() {
        assert_eq!(readable("main"), "main");
        assert_eq!(readable("_Z3addii"), "add(int, int)");
        assert_eq!(readable("_ZN4core3fmt5write17h0123456789abcdefE"), "core::fmt::write");
        assert_eq!(readable("_Znonsense"), "_Znonsense");
    }
}
