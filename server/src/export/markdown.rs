//! The report in Markdown (GitHub's), to be finished by people: what the record knows, then what only they know.
//!
//! Text from outside can be no markup: sentences are escaped, requests and agents stand in code spans.

use fuseboard_app::{
    prose::{evidence, incident::in_common},
    wire::incident::{Incident, IncidentDetail, Refusals},
};

use super::{About, incidents, out::Out, report, rows::BATCH};
use crate::{app::App, fault::Fault};

/// Writes the report.
pub(super) async fn write(app: &App, about: &About, out: &mut Out) -> Result<(), Fault> {
    let totals = incidents::totals(app, about, out).await?;
    head(about, &totals, out);
    incidents::each(app, about, out, |one, out| out.text(&line(about, one))).await?;
    if !totals.is_empty() {
        out.text("\n");
    }
    let mut after = 0;
    loop {
        let batch = incidents::page(app, about, after, BATCH).await?;
        let Some(last) = batch.last() else { break };
        after = last.id;
        for one in &batch {
            let Some(detail) = incidents::detail(app, one.id).await? else { continue };
            let probes = incidents::probes_of(app, &one.breaker, one.start, one.end.unwrap_or(about.made_at)).await?;
            incident(about, one, &detail, &report::story(&detail, &probes), out);
            out.breathe().await;
        }
    }
    out.text("## To be written\n\n");
    for part in ["Root cause", "What helped", "What did not", "What we change, who, by when"] {
        out.text(&format!("- **{part}:** _…_\n"));
    }
    out.text(&format!("\n---\n\n_{}_\n", text(&report::colophon(about))));
    Ok(())
}

fn head(about: &About, totals: &report::Totals, out: &mut Out) {
    out.text(&format!("# {}\n\n", text(&report::title(about))));
    out.text(&format!("{} · node {}\n\n", text(&report::range(about)), code(&about.node)));
    out.text(&format!("**{}**\n\n", text(&totals.lead(about).join(" "))));
    if !totals.is_empty() {
        out.text("| # | Host | Began (UTC) | Lasted | Down | Why | Failed | Refused |\n");
        out.text("|---:|---|---|---:|---:|---|---:|---:|\n");
    }
}

/// A line of the table.
fn line(about: &About, one: &Incident) -> String {
    row(&[
        one.id.to_string(),
        code(&one.breaker),
        report::at(one.start).trim_end_matches(" UTC").to_owned(),
        report::length(one, about),
        fuseboard_app::format::lasted(one.down_ms as i64),
        text(&report::why(one)),
        fuseboard_app::format::count(one.calls_failed),
        fuseboard_app::format::count(one.calls_refused),
    ])
}

fn incident(
    about: &About,
    one: &Incident,
    detail: &IncidentDetail,
    story: &[Result<report::Moment, usize>],
    out: &mut Out,
) {
    out.text(&format!("## {}: {}\n\n", one.id, text(&report::headline(one, about))));
    out.text(&format!("{}\n\n", text(&report::why(one))));
    for (label, value) in report::figures(one, about) {
        out.text(&format!("- **{label}:** {}\n", text(&value)));
    }
    if let Some(waits) = report::waits(detail) {
        out.text(&format!("- **Waits:** {}\n", text(&waits)));
    }
    let calls = evidence(&detail.incident.cause);
    if !calls.is_empty() {
        out.text(
            "\n### The calls that decided\n\n| At (UTC) | Request | What came of it | After |\n|---|---|---|---:|\n",
        );
        for call in &calls {
            out.text(&row(&[report::clock(call), code(report::request(call)), text(&call.met), call.after.clone()]));
        }
        if let Some(common) = in_common(&calls) {
            out.text(&format!("\n{}\n", text(&common)));
        }
    }
    refused("Paths refused most", "Path", &detail.refused_paths, out);
    refused("Who was refused most", "User agent", &detail.refused_agents, out);
    out.text("\n### What happened\n\n");
    for moment in story {
        match moment {
            Ok(moment) => {
                let hand = if moment.by_hand { "**by hand** " } else { "" };
                out.text(&format!("- {} — {hand}{}\n", moment.at, text(&moment.said)));
            }
            Err(skipped) => out.text(&format!("- … {skipped} more, in the export of transitions and probes …\n")),
        }
    }
    out.text("\n");
}

fn refused(title: &str, column: &str, most: &[Refusals], out: &mut Out) {
    if most.is_empty() {
        return;
    }
    out.text(&format!("\n### {title}\n\n| {column} | Times |\n|---|---:|\n"));
    for one in most {
        out.text(&row(&[code(&one.value), fuseboard_app::format::count(one.count)]));
    }
}

fn row(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

/// A sentence that is no markup: every mark escaped, line breaks and other control characters gone, and no address in it
/// that would be made a link of.
fn text(text: &str) -> String {
    let mut safe = String::with_capacity(text.len() + 8);
    let mut rest = text.chars().peekable();
    while let Some(c) = rest.next() {
        // At the start of a line a dash is a rule, and a number with its dot a list.
        let first = safe.trim().is_empty();
        let numbered = !first && safe.trim().bytes().all(|before| before.is_ascii_digit());
        let marks = match c {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '+' | '|' | '~' | '$' => true,
            '-' | '=' => first,
            ')' => numbered,
            // `http://`, `www.` and `a@b.c` become links by themselves.
            '.' => numbered || safe.to_ascii_lowercase().ends_with("www"),
            ':' => rest.peek() == Some(&'/'),
            '@' => true,
            _ => false,
        };
        if marks {
            safe.push('\\');
        }
        match c {
            c if c.is_control() => safe.push(' '),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '&' => safe.push_str("&amp;"),
            c => safe.push(c),
        }
    }
    safe
}

/// A code span, also inside a table: its fence is longer than any run of backticks within.
fn code(text: &str) -> String {
    let line: String = text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
    let longest = line.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A blank at both ends is stripped; it keeps a backtick of the text from the fence, and an empty text a span.
    let pad = if line.starts_with('`') || line.ends_with('`') || line.trim().is_empty() { " " } else { "" };
    format!("{fence}{pad}{}{pad}{fence}", line.replace('|', "\\|"))
}

#[cfg(test)]
mod tests {
    use pulldown_cmark::{Event, Options, Parser, Tag};

    use super::*;

    const HOSTILE: [&str; 18] = [
        "- one",
        "12. twelve",
        "3) three",
        "+ plus",
        "> quoted",
        "===",
        "a | b || c",
        "`rm -rf` and ``two``",
        "[click](http://evil.example) <http://evil.example>",
        "![x](http://evil.example/x.png)",
        "http://evil.example www.evil.example a@evil.example",
        "<script>alert(1)</script><img src=x onerror=alert(1)>",
        "one\r\n\r\n# two\n- three",
        "**bold** _it_ ~~gone~~ $math$",
        "\\ back \\| slash",
        "&lt;b&gt; &#60;",
        "---",
        "`",
    ];

    fn events(markdown: &str) -> Vec<Event<'_>> {
        // Everything but what turns dashes and quotes into typography, which no host of reports does.
        Parser::new_ext(markdown, Options::all().difference(Options::ENABLE_SMART_PUNCTUATION)).collect()
    }

    fn shown(markdown: &str) -> String {
        let mut shown = String::new();
        for event in events(markdown) {
            match event {
                Event::Text(text) | Event::Code(text) => shown.push_str(&text),
                Event::Html(text) | Event::InlineHtml(text) => panic!("HTML {text}"),
                Event::Start(
                    Tag::Link { .. } | Tag::Image { .. } | Tag::Strong | Tag::Emphasis | Tag::Heading { .. },
                ) => {
                    panic!("markup in {markdown:?}")
                }
                _ => {}
            }
        }
        shown
    }

    fn flat(text: &str) -> String {
        text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
    }

    #[test]
    fn r46_a_sentence_is_no_markup_and_reads_as_it_was() {
        for hostile in HOSTILE {
            assert_eq!(shown(&text(hostile)), flat(hostile), "{}", text(hostile));
            let line = format!("So: {}", text(hostile));
            assert_eq!(shown(&line), flat(&format!("So: {hostile}")), "{line}");
        }
    }

    #[test]
    fn r46_a_table_keeps_its_cells() {
        for hostile in HOSTILE {
            let table = format!("| a | b | c |\n|---|---|---|\n{}", row(&[code(hostile), text(hostile), "end".into()]));
            let cells = events(&table).iter().filter(|event| matches!(event, Event::Start(Tag::TableCell))).count();
            assert_eq!(cells, 6, "{table}");
            let shown = shown(&table);
            let flat = flat(hostile);
            assert!(shown.ends_with(&format!("{}{}end", flat, flat)), "{shown:?} of {table}");
        }
    }

    #[test]
    fn no_address_becomes_a_link_by_itself() {
        let text = text("see http://evil.example, WWW.evil.example or a@evil.example");
        for link in ["http://", "WWW.", "a@"] {
            assert!(!text.contains(link), "{text}");
        }
    }
}
