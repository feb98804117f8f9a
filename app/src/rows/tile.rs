//! The wall's tiles.

use std::fmt::Write;

use super::{down_for, folded, host_name, next, sign_and_words, why};
use crate::{
    format,
    markup::escaped,
    panel::{Panel, arrange::Arranged},
    standing::Standing,
};

/// More than this many are not read from across the room.
const WORST: usize = 24;

/// All tiles: the worst, how many more, and one for all that flow.
pub fn all(panel: &Panel, arranged: &Arranged, now_ms: i64) -> String {
    let troubled: Vec<&String> = arranged.groups.iter().flat_map(|group| &group.trouble).collect();
    let mut out = String::new();
    for row in troubled.iter().take(WORST).filter_map(|id| panel.row(id)) {
        let breaker = &row.breaker;
        let standing = Standing::of(breaker, now_ms);
        let (label, left) = next(breaker, standing, now_ms);
        // What flows for the moment has no next step; why it is here is that it keeps opening.
        let next = if left.is_empty() { why(breaker, now_ms) } else { format!("{label} {left}") };
        let _ = write!(
            out,
            "<li class=\"tile {}\">{}{}<span class=\"tile-down\">{}</span><span class=\"tile-next\">{}</span></li>",
            standing.class(),
            sign_and_words(standing),
            host_name(&breaker.id),
            escaped(&down_for(breaker, standing, now_ms).unwrap_or_default()),
            escaped(&next),
        );
    }
    if troubled.len() > WORST {
        let _ =
            write!(out, "<li class=\"tile is-more\"><b>+{}</b></li>", format::count((troubled.len() - WORST) as u64));
    }
    let quiet: Vec<String> =
        arranged.groups.iter().flat_map(|group| &group.quiet).chain(&arranged.quiet).cloned().collect();
    let said = folded(panel, &quiet);
    let (many, rest) = said.split_once(' ').unwrap_or((&said, ""));
    let _ = write!(out, "<li class=\"tile is-count\"><b>{many}</b> {rest}</li>");
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        backend::BreakerFilter,
        panel::PanelView,
        sample::{self, at},
        wire::breaker::{BreakerList, State},
    };

    #[test]
    fn the_wall_shows_the_worst_24_and_counts_the_others() {
        let open = |nth: u64| {
            let mut breaker = sample::open(&format!("https:h{nth}.example"), 10_000);
            breaker.refused_per_min = nth;
            breaker
        };
        let mut breakers: Vec<_> = (0..30).map(open).collect();
        breakers.extend((0..7).map(|nth| sample::breaker(&format!("fine-{nth}"), State::Closed)));
        let list = BreakerList { breakers, as_of: at(0), cursor: "7-10".into(), next: None };
        let panel = Panel::load(&PanelView {
            about: sample::about(),
            list,
            timeline: None,
            unread: None,
            plan: None,
            refused: None,
        });
        let html = all(&panel, &panel.arrange(&BreakerFilter::default(), 0), 0);
        assert_eq!(html.matches("<li class=\"tile is-open\"").count(), 24);
        assert!(html.contains("<b>+6</b>") && html.contains("<b>7</b> closed"), "{html}");
        assert!(html.find("h29.example").expect("the worst") < html.find("h6.example").expect("the last"), "{html}");
        assert!(!html.contains("h5.example"));
    }
}
