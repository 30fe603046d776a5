//! y
use super::About;
use crate::outcome::story::Story;
pub(super) fn render(_: &Story, _: &About) -> String {
    "{}".into()
}
