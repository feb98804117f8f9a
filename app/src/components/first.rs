//! The first run: what to do before there is anything to see. It changes by itself at the first call.

use leptos::prelude::*;

use crate::backend::About;
#[cfg(feature = "ssr")]
use crate::markup::escaped;

/// What a first upstream may be: its word, what it is called, its lines in the configuration, what is pointed at the
/// gateway and how. `GATEWAY` stands for the gateway's address, `TARGET` for its host and port.
#[cfg(feature = "ssr")]
const KINDS: [(&str, &str, &str, &str, &str); 6] = [
    (
        "npm",
        "npm",
        "[[upstream]]\nname = \"npm\"\nurl = \"https://registry.example\"  # where your packages come from\npreset = \"npm\"\n",
        "npm",
        "npm config set registry GATEWAY/npm/",
    ),
    (
        "pypi",
        "pip",
        "[[upstream]]\nname = \"pypi\"\nurl = \"https://index.example\"  # where your packages come from\npreset = \"pypi\"\n",
        "pip",
        "pip config set global.index-url GATEWAY/pypi/simple/",
    ),
    (
        "cargo",
        "cargo",
        "[[upstream]]\nname = \"cargo\"\nurl = \"https://sparse.example\"  # where your index is\npreset = \"cargo\"\n",
        "cargo",
        "[source.crates-io]\nreplace-with = \"gateway\"\n\n[source.gateway]\nregistry = \"sparse+GATEWAY/cargo/\"\n",
    ),
    (
        "maven",
        "Maven",
        "[[upstream]]\nname = \"maven\"\nurl = \"https://repository.example/maven2\"  # where your artefacts come from\npreset = \"maven\"\n",
        "settings.xml",
        "<mirror>\n  <id>gateway</id>\n  <mirrorOf>*</mirrorOf>\n  <url>GATEWAY/maven/</url>\n</mirror>\n",
    ),
    (
        "http",
        "any HTTP host",
        "[[upstream]]\nname = \"files\"\nurl = \"https://files.example\"  # the host that is called\n",
        "curl",
        "curl GATEWAY/files/",
    ),
    (
        "grpc",
        "a gRPC service",
        "[[upstream]]\nname = \"accounts\"\nurl = \"http://accounts.example:50051\"  # the server that is called\nprotocol = \"grpc\"\nservices = [\"*\"]\n",
        "target",
        "TARGET",
    ),
];

/// Three steps, each to be copied, for what the clients fetch. The server writes them: a browser finds them there.
#[component]
pub fn FirstRun(
    /// Where the gateway is.
    about: About,
) -> impl IntoView {
    #[cfg(feature = "ssr")]
    let (choice, steps) = (choice(), steps(&about.gateway_url));
    #[cfg(not(feature = "ssr"))]
    let (choice, steps) = (String::new(), String::new());
    let _ = about;
    view! {
        <h1 class="sentence">"No upstream yet."</h1>
        <div class="first-run" on:click=copy>
            <fieldset class="field" inner_html=choice></fieldset>
            <ol inner_html=steps></ol>
        </div>
        <p class="nothing">"This page changes by itself at the first call."</p>
    }
}

#[cfg(feature = "ssr")]
fn choice() -> String {
    let mut out = "<legend>What do your clients fetch from?</legend><div class=\"options\">".to_owned();
    for (nth, (word, label, ..)) in KINDS.iter().enumerate() {
        let checked = if nth == 0 { " checked" } else { "" };
        out.push_str(&format!(
            "<label class=\"option\"><input type=\"radio\" name=\"kind\" value=\"{word}\"{checked}><span>{label}</span></label>"
        ));
    }
    out + "</div>"
}

#[cfg(feature = "ssr")]
fn steps(gateway: &str) -> String {
    let gateway = gateway.trim_end_matches('/');
    let target = gateway.split_once("://").map_or(gateway, |(_, target)| target);
    let copied = |kind: &str, name: &str, text: &str| {
        let text = escaped(text);
        format!(
            "<div class=\"copied {kind}\"><span>{name}</span><pre>{text}</pre>\
             <button type=\"button\" class=\"button\" data-copy=\"{text}\" aria-label=\"Copy {name}\">Copy</button></div>"
        )
    };
    let (mut add, mut point) = (String::new(), String::new());
    for (word, _, upstream, client, line) in KINDS {
        let kind = format!("of-kind for-{word}");
        add.push_str(&copied(&kind, "upstream", upstream));
        point.push_str(&copied(&kind, client, &line.replace("GATEWAY", gateway).replace("TARGET", target)));
    }
    let reload = copied("", "reload", "kill -HUP $(pidof fuseboard)");
    format!(
        "<li><p>Add this to fuseboard.toml, with the address it is at now</p>{add}</li><li><p>Reload</p>{reload}</li>\
         <li><p>Point a client at this gateway</p>{point}</li>"
    )
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
