//! The first run: what to do before there is anything to see. It changes by itself at the first call.

use leptos::prelude::*;

use crate::{backend::About, markup::escaped};

/// Three steps, each to be copied.
#[component]
pub fn FirstRun(
    /// Where the gateway is.
    about: About,
) -> impl IntoView {
    let gateway = about.gateway_url.trim_end_matches('/').to_owned();
    let mut out = String::new();
    let mut step = |says: &str, lines: &[(&str, String)]| {
        out.push_str(&format!("<li><p>{says}</p>"));
        for (name, text) in lines {
            let text = escaped(text);
            out.push_str(&format!(
                "<div class=\"copied\"><span>{name}</span><pre>{text}</pre>\
                 <button type=\"button\" class=\"button\" data-copy=\"{text}\" aria-label=\"Copy {name}\">Copy</button></div>"
            ));
        }
        out.push_str("</li>");
    };
    step(
        "Add this to fuseboard.toml",
        &[("upstream", "[[upstream]]\nname = \"npm\"\nurl  = \"https://registry.example\"\n".into())],
    );
    step("Reload", &[("reload", "kill -HUP $(pidof fuseboard)".into())]);
    step(
        "Point a client at this gateway",
        &[
            ("npm", format!("npm config set registry {gateway}/npm/")),
            ("pip", format!("pip config set global.index-url {gateway}/pip/simple/")),
            (
                "cargo",
                format!(
                    "[source.crates-io]\nreplace-with = \"fuseboard\"\n\n[source.fuseboard]\nregistry = \"sparse+{gateway}/cargo/\"\n"
                ),
            ),
        ],
    );
    view! {
        <h1 class="sentence">"No upstream yet."</h1>
        <ol class="first-run" inner_html=out on:click=copy></ol>
        <p class="nothing">"This page changes by itself at the first call."</p>
    }
}

fn copy(event: leptos::ev::MouseEvent) {
    #[cfg(feature = "browser")]
    if let Some(text) = crate::dom::said(&event, "data-copy") {
        crate::dom::copy(&text);
        if let Some(button) = crate::dom::closest(&event, "[data-copy]") {
            button.set_text_content(Some("Copied"));
        }
    }
    #[cfg(not(feature = "browser"))]
    let _ = event;
}
