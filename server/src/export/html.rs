//! The report as one page that needs nothing else: no script, no request, its style and its drawings inside. It reads on
//! a phone, in the dark and on paper.
//!
//! Every text goes through [`Page::text`]; markup is what this module itself writes.

mod drawing;

use fuseboard_app::{
    format::{count, lasted},
    prose::{evidence, incident::in_common},
    timeline::Strip,
    wire::incident::{Incident, IncidentDetail, IncidentKind, Refusals},
};

use super::{About, incidents, out::Out, report, rows::BATCH};
use crate::{app::App, fault::Fault};

/// The board's own colours, then the report's rules.
const STYLE: &str = concat!(include_str!("../../../style/tokens.css"), include_str!("html/report.css"));

/// Hosts drawn in the overview; a wall of hundreds says nothing.
const LANES: usize = 40;

/// The table's head.
const TABLE: &str = "<section aria-labelledby=\"incidents\">\n<h2 id=\"incidents\">Incidents</h2>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-labelledby=\"incidents\"><table>\n\
<thead><tr><th scope=\"col\">Host</th><th scope=\"col\">Began (UTC)</th><th scope=\"col\" class=\"n\">Lasted</th>\
<th scope=\"col\" class=\"n\">Down</th><th scope=\"col\">Why</th><th scope=\"col\" class=\"n\">Failed</th>\
<th scope=\"col\" class=\"n\">Refused</th></tr></thead>\n<tbody>\n";

/// Writes the page: what it comes to, the table, then each incident; the record is read once for each of the three, so
/// that a long one is never held.
pub(super) async fn write(app: &App, about: &About, out: &mut Out) -> Result<(), Fault> {
    let totals = incidents::totals(app, about, out).await?;
    let mut page = Page(out);
    page.open(about);
    page.head(about, &totals);
    if !totals.is_empty() {
        let hosts = totals.hosts();
        let (from, to) = totals.stretch(about);
        let drawn = &hosts[..hosts.len().min(LANES)];
        let timeline = incidents::lanes_of(app, about, drawn, from, to).await?;
        page.overview(&timeline, hosts.len() - drawn.len());
        page.raw(TABLE);
        incidents::each(app, about, page.0, |one, out| Page(out).row(about, one)).await?;
        page.raw("</tbody>\n</table></div>\n</section>\n");
    }
    let mut after = 0;
    loop {
        let batch = incidents::page(app, about, after, BATCH).await?;
        let Some(last) = batch.last() else { break };
        after = last.id;
        for one in &batch {
            let Some(detail) = incidents::detail(app, one.id).await? else { continue };
            let (from, to) = report::around(one, about);
            let lane = incidents::lane_of(app, about, &one.breaker, from, to).await?;
            let probes = incidents::probes_of(app, &one.breaker, one.start, one.end.unwrap_or(about.made_at)).await?;
            page.incident(about, one, &detail, &lane, &report::story(&detail, &probes));
            page.0.breathe().await;
        }
    }
    page.close(about);
    Ok(())
}

/// Text as text, between tags and in quoted attributes.
fn escape(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\'' => safe.push_str("&#39;"),
            // Most of them may not stand in a page at all.
            c if c.is_control() => safe.push(' '),
            c => safe.push(c),
        }
    }
    safe
}

struct Page<'a>(&'a mut Out);

impl Page<'_> {
    fn raw(&mut self, markup: &str) -> &mut Self {
        self.0.text(markup);
        self
    }

    fn text(&mut self, text: &str) -> &mut Self {
        self.0.text(&escape(text));
        self
    }

    /// An element with text in it.
    fn element(&mut self, open: &str, text: &str, close: &str) -> &mut Self {
        self.raw(open).text(text).raw(close)
    }

    fn open(&mut self, about: &About) {
        self.raw("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n")
            .raw("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n")
            .raw("<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n")
            .raw("<meta name=\"referrer\" content=\"no-referrer\">\n")
            .element("<title>", &format!("{} · {}", report::title(about), about.node), "</title>\n")
            .raw("<style>\n")
            .raw(STYLE)
            .raw("</style>\n</head>\n<body>\n")
            .raw(drawing::PATTERNS)
            .raw("<main>\n");
    }

    fn head(&mut self, about: &About, totals: &report::Totals) {
        self.raw("<header>\n")
            .element("<h1>", &report::title(about), "</h1>\n")
            .element("<p class=\"range\">", &report::range(about), "")
            .element(" · node <b>", &about.node, "</b></p>\n")
            .element("<p class=\"lead\">", &totals.lead(about).join(" "), "</p>\n</header>\n");
    }

    fn overview(&mut self, timeline: &fuseboard_app::wire::timeline::Timeline, more: usize) {
        self.raw("<section aria-labelledby=\"overview\">\n<h2 id=\"overview\">Timeline</h2>\n<div class=\"lanes\">\n");
        let axis = drawing::axis(timeline.from, timeline.to);
        for lane in &timeline.lanes {
            self.raw("<div class=\"host\">")
                .element("<span class=\"name\">", &lane.breaker, "</span>")
                .raw(&drawing::lane(&Strip::from_lane(lane), axis, &lane.breaker))
                .raw("</div>\n");
        }
        self.raw("<div class=\"host\"><span></span>").raw(&drawing::labels(axis)).raw("</div>\n</div>\n");
        if more > 0 {
            self.element("<p class=\"more\">", &format!("And {more} more hosts, below."), "</p>\n");
        }
        self.raw(drawing::LEGEND).raw("</section>\n");
    }

    /// A line of the table.
    fn row(&mut self, about: &About, one: &Incident) {
        self.raw(&format!("<tr><th scope=\"row\"><a href=\"#incident-{}\">", one.id))
            .element("<code>", &one.breaker, "</code></a></th>")
            .element("<td class=\"t\">", report::at(one.start).trim_end_matches(" UTC"), "</td>")
            .element("<td class=\"n\">", &report::length(one, about), "</td>")
            .element("<td class=\"n\">", &lasted(one.down_ms as i64), "</td>")
            .element("<td>", &report::why(one), "</td>")
            .element("<td class=\"n\">", &count(one.calls_failed), "</td>")
            .element("<td class=\"n\">", &count(one.calls_refused), "</td></tr>\n");
    }

    fn incident(
        &mut self,
        about: &About,
        one: &Incident,
        detail: &IncidentDetail,
        lane: &fuseboard_app::wire::timeline::Lane,
        story: &[Result<report::Moment, usize>],
    ) {
        let kind = if one.kind == IncidentKind::Held { "held" } else { "tripped" };
        self.raw(&format!("<article class=\"incident is-{kind}\" id=\"incident-{}\">\n", one.id))
            .raw("<h2>")
            .element("<span class=\"number\">", &format!("#{}", one.id), "</span> ")
            .element("", &report::headline(one, about), "</h2>\n")
            .element("<p class=\"why\">", &report::why(one), "</p>\n");
        let axis = drawing::axis(lane.from, lane.to);
        self.raw("<figure>\n")
            .raw(&drawing::probes(lane, axis))
            .raw(&drawing::lane(&Strip::from_lane(lane), axis, &one.breaker))
            .raw(&drawing::calls(lane, axis))
            .raw(&drawing::labels(axis))
            .raw(&drawing::calls_legend(lane))
            .raw("</figure>\n<dl>\n");
        for (label, value) in report::figures(one, about) {
            self.element("<div><dt>", label, "</dt>").element("<dd>", &value, "</dd></div>\n");
        }
        self.raw("</dl>\n");
        if let Some(waits) = report::waits(detail) {
            self.element("<p class=\"waits\">", &waits, "</p>\n");
        }
        self.evidence(detail);
        self.refused(detail);
        self.story(story);
        self.raw("</article>\n");
    }

    fn evidence(&mut self, detail: &IncidentDetail) {
        let calls = evidence(&detail.incident.cause);
        if calls.is_empty() {
            return;
        }
        self.raw("<section>\n<h3>The calls that decided</h3>\n<div class=\"wide\" tabindex=\"0\" role=\"group\" aria-label=\"The calls that decided\"><table>\n<thead><tr>")
            .raw("<th scope=\"col\">At (UTC)</th><th scope=\"col\">Request</th><th scope=\"col\">What came of it</th>")
            .raw("<th scope=\"col\" class=\"n\">After</th></tr></thead>\n<tbody>\n");
        for call in &calls {
            self.element("<tr><td class=\"t\">", &report::clock(call), "</td>")
                .element("<td><code>", report::request(call), "</code></td>")
                .element("<td>", &call.met, "</td>")
                .element("<td class=\"n\">", &call.after, "</td></tr>\n");
        }
        self.raw("</tbody>\n</table></div>\n");
        if let Some(common) = in_common(&calls) {
            self.element("<p class=\"common\">", &common, "</p>\n");
        }
        self.raw("</section>\n");
    }

    fn refused(&mut self, detail: &IncidentDetail) {
        if detail.refused_paths.is_empty() && detail.refused_agents.is_empty() {
            return;
        }
        self.raw("<section class=\"pair\">\n");
        self.most("Paths refused most", &detail.refused_paths);
        self.most("Who was refused most", &detail.refused_agents);
        self.raw("</section>\n");
    }

    fn most(&mut self, title: &str, most: &[Refusals]) {
        if most.is_empty() {
            return;
        }
        self.element("<div><h3>", title, "</h3>\n<table><tbody>\n");
        for one in most {
            self.element("<tr><td><code>", &one.value, "</code></td>").element(
                "<td class=\"n\">",
                &count(one.count),
                "</td></tr>\n",
            );
        }
        self.raw("</tbody></table></div>\n");
    }

    fn story(&mut self, story: &[Result<report::Moment, usize>]) {
        self.raw("<section>\n<h3>What happened</h3>\n<ol class=\"story\">\n");
        for moment in story {
            match moment {
                Ok(moment) => {
                    self.raw(if moment.by_hand { "<li class=\"by-hand\">" } else { "<li>" })
                        .element("<time>", &moment.at, "</time> ")
                        .element("<span>", &moment.said, "</span></li>\n");
                }
                Err(skipped) => {
                    let text = format!("… {} more, in the export of transitions and probes …", count(*skipped as u64));
                    self.element("<li class=\"more\">", &text, "</li>\n");
                }
            }
        }
        self.raw("</ol>\n</section>\n");
    }

    fn close(&mut self, about: &About) {
        self.raw("</main>\n").element("<footer>", &report::colophon(about), "</footer>\n</body>\n</html>\n");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn r46_text_is_text_wherever_it_stands() {
        let hostile = "<img src=x onerror=\"alert('1')\">&amp;\u{0}\u{1b}[31m";
        let page = format!("<p title=\"{0}\">{0}</p>", escape(hostile));
        let parsed = scraper::Html::parse_fragment(&page);
        let select = scraper::Selector::parse("*").expect("a selector");
        let names: Vec<_> = parsed.select(&select).map(|element| element.value().name()).collect();
        assert_eq!(names, ["html", "p"]);
        let p = parsed.select(&scraper::Selector::parse("p").expect("a selector")).next().expect("a paragraph");
        let want: String = hostile.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        assert_eq!(p.text().collect::<String>(), want);
        assert_eq!(p.attr("title"), Some(&*want));
    }
}
