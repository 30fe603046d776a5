//! The rows of tables 6 and 7, and what the thesis measured.

/// What the thesis measured, in seconds: solving and total without projection, then with it.
pub type Paper = [f64; 4];

/// A row: its name, the program, a constant, the property, the depth, and the thesis' numbers, if it is one of its rows.
pub type Row = (
    &'static str,
    &'static str,
    &'static [(&'static str, i64)],
    &'static str,
    usize,
    Option<Paper>,
);

pub const UNSATISFIABLE: &[Row] = &[
    ("Indexer 2", "indexer", &[("N", 2)], "collision", 10, Some([19.531, 20.116, 5.088, 5.773])),
    (
        "Indexer 4",
        "indexer",
        &[("N", 4)],
        "collision",
        15,
        Some([15_979.298, 15_981.531, 5_881.442, 5_884.755]),
    ),
    ("FSys 5", "filesystem", &[], "overflow", 30, Some([37.058, 47.376, 1.825, 58.139])),
    ("FSys 5", "filesystem", &[], "overflow", 60, Some([206.297, 227.427, 14.879, 227.942])),
    ("FSys 5", "filesystem", &[], "overflow", 70, Some([627.547, 651.991, 40.469, 325.797])),
    ("FSys 5", "filesystem", &[], "overflow", 90, Some([949.518, 981.573, 10.478, 467.558])),
];

pub const SATISFIABLE: &[Row] = &[
    (
        "DPhil 5",
        "dining-mutant",
        &[("N", 5)],
        "neighbours_eat",
        10,
        Some([5.921, 8.830, 7.671, 12.665]),
    ),
    (
        "DPhil 7",
        "dining-mutant",
        &[("N", 7)],
        "neighbours_eat",
        10,
        Some([14.391, 19.162, 14.945, 22.585]),
    ),
    (
        "DPhil 10",
        "dining-mutant",
        &[("N", 10)],
        "neighbours_eat",
        10,
        Some([51.229, 59.460, 39.607, 52.139]),
    ),
    (
        "DPhil 12",
        "dining-mutant",
        &[("N", 12)],
        "neighbours_eat",
        10,
        Some([77.121, 88.028, 66.544, 82.618]),
    ),
    (
        "DPhil 15",
        "dining-mutant",
        &[("N", 15)],
        "neighbours_eat",
        10,
        Some([219.824, 235.581, 182.689, 204.752]),
    ),
    ("Litmus 4", "litmus-4", &[], "found", 20, Some([10.649, 11.348, 13.988, 15.819])),
    ("Litmus 5", "litmus-5", &[], "found", 20, Some([605.336, 606.475, 654.573, 657.102])),
    ("Litmus 6", "litmus-6", &[], "found", 20, Some([3_888.401, 3_889.363, 908.573, 911.550])),
    ("Litmus 7", "litmus-7", &[], "found", 20, Some([2_611.024, 2_612.562, 349.708, 353.544])),
    ("Litmus 8", "litmus-8", &[], "found", 20, Some([7_200.0, 7_200.0, 59.738, 64.031])),
];

/// A harder file system, in which any two processes may meet, so that little can be left out. It is not the thesis'.
pub const HARDER: &[Row] = &[
    ("FSys any 5", "filesystem-any", &[], "overflow", 15, None),
    ("FSys any 5", "filesystem-any", &[], "overflow", 20, None),
    ("FSys any 5", "filesystem-any", &[], "overflow", 25, None),
    ("FSys any 5", "filesystem-any", &[], "overflow", 30, None),
];
