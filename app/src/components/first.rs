//! The first run: what to do before there is anything to see. It changes by itself at the first call.

use leptos::prelude::*;

use crate::backend::About;
#[cfg(feature = "ssr")]
use crate::markup::escaped;

/// What a first upstream may be. In the lines `NAME` stands for its name, `GATEWAY` for the gateway's address, `TARGET` for
/// its host and port.
#[cfg(feature = "ssr")]
#[derive(Clone)]
struct Kind {
    /// Its word in the page.
    word: &'static str,
    /// What it is called.
    label: &'static str,
    /// Its name in the configuration.
    name: std::borrow::Cow<'static, str>,
    /// Its lines there.
    upstream: &'static str,
    /// What is pointed at the gateway ...
    client: &'static str,
    /// ... and how.
    line: &'static str,
}

#[cfg(feature = "ssr")]
impl Kind {
    const fn new(words: [&'static str; 3], upstream: &'static str, client: &'static str, line: &'static str) -> Self {
        let [word, label, name] = words;
        Self { word, label, name: std::borrow::Cow::Borrowed(name), upstream, client, line }
    }
}

#[cfg(feature = "ssr")]
static KINDS: [Kind; 6] = [
    Kind::new(
        ["npm", "npm", "npm"],
        "[[upstream]]\nname = \"NAME\"\nurl = \"https://registry.example\"  # where your packages come from\npreset = \"npm\"\n",
        "npm",
        "npm config set registry GATEWAY/NAME/",
    ),
    Kind::new(
        ["pypi", "pip", "pypi"],
        "[[upstream]]\nname = \"NAME\"\nurl = \"https://index.example\"  # where your packages come from\npreset = \"pypi\"\n",
        "pip",
        "pip config set global.index-url GATEWAY/NAME/simple/",
    ),
    Kind::new(
        ["cargo", "cargo", "cargo"],
        "[[upstream]]\nname = \"NAME\"\nurl = \"https://sparse.example\"  # where your index is\npreset = \"cargo\"\n",
        "cargo",
        "[source.crates-io]\nreplace-with = \"gateway\"\n\n[source.gateway]\nregistry = \"sparse+GATEWAY/NAME/\"\n",
    ),
    Kind::new(
        ["maven", "Maven", "maven"],
        "[[upstream]]\nname = \"NAME\"\nurl = \"https://repository.example/maven2\"  # where your artefacts come from\npreset = \"maven\"\n",
        "settings.xml",
        "<mirror>\n  <id>gateway</id>\n  <mirrorOf>*</mirrorOf>\n  <url>GATEWAY/NAME/</url>\n</mirror>\n",
    ),
    Kind::new(
        ["http", "any HTTP host", "files"],
        "[[upstream]]\nname = \"NAME\"\nurl = \"https://files.example\"  # the host that is called\n",
        "curl",
        "curl GATEWAY/NAME/",
    ),
    Kind::new(
        ["grpc", "a gRPC service", "accounts"],
        "[[upstream]]\nname = \"NAME\"\nurl = \"http://accounts.example:50051\"  # the server that is called\nprotocol = \"grpc\"\nservices = [\"*\"]\n",
        "target",
        "TARGET",
    ),
];

/// Three steps, each to be copied, for what the clients fetch from; of what is configured already the last one. The server
/// writes them: a browser finds them there, and takes away what is done.
#[component]
pub fn FirstRun(
    /// Where the gateway is.
    about: About,
    /// The upstreams there are, as the page was loaded.
    names: Vec<String>,
    /// Whether there are none now.
    empty: Memo<bool>,
) -> impl IntoView {
    #[cfg(feature = "ssr")]
    let (choice, steps) = {
        let kinds = kinds(&names);
        (choice(&kinds), steps(&kinds, &about.gateway_url))
    };
    #[cfg(not(feature = "ssr"))]
    let (choice, steps) = (String::new(), String::new());
    let _ = (about, names);
    view! {
        <h1 class="sentence" hidden=move || !empty.get()>
            "No upstream yet."
        </h1>
        <section class="first-run" class:is-configured=move || !empty.get() aria-label="First steps" on:click=copy>
            <fieldset class="field" inner_html=choice></fieldset>
            <ol inner_html=steps></ol>
            <p class="nothing">"This page changes by itself at the first call."</p>
        </section>
    }
}

/// What is offered: all kinds, or those of the names there are; a name of nobody's choosing is any HTTP host.
#[cfg(feature = "ssr")]
fn kinds(names: &[String]) -> Vec<Kind> {
    let named = |kind: &&Kind| names.is_empty() || names.iter().any(|name| *name == kind.name);
    let known: Vec<Kind> = KINDS.iter().filter(named).cloned().collect();
    match (known.is_empty(), names) {
        (true, [first, ..]) => {
            let any = KINDS.iter().filter(|kind| kind.word == "http");
            any.map(|any| Kind { name: first.clone().into(), ..any.clone() }).collect()
        }
        _ => known,
    }
}

#[cfg(feature = "ssr")]
fn choice(kinds: &[Kind]) -> String {
    let mut out = "<legend>What do your clients fetch from?</legend><div class=\"options\">".to_owned();
    for (nth, Kind { word, label, .. }) in kinds.iter().enumerate() {
        let checked = if nth == 0 { " checked" } else { "" };
        out.push_str(&format!(
            "<label class=\"option\"><input type=\"radio\" name=\"kind\" value=\"{word}\"{checked}><span>{label}</span></label>"
        ));
    }
    out + "</div>"
}

#[cfg(feature = "ssr")]
fn steps(kinds: &[Kind], gateway: &str) -> String {
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
    for Kind { word, upstream, client, line, name, .. } in kinds {
        let kind = format!("of-kind for-{word}");
        let line = line.replace("GATEWAY", gateway).replace("TARGET", target).replace("NAME", name);
        add.push_str(&copied(&kind, "upstream", &upstream.replace("NAME", name)));
        point.push_str(&copied(&kind, client, &line));
    }
    let reload = copied("", "reload", "kill -HUP $(pidof fuseboard)");
    format!(
        "<li class=\"is-done\"><p>Add this to fuseboard.toml, with your own url</p>{add}</li>\
         <li class=\"is-done\"><p>Reload</p>{reload}</li><li><p>Point a client at this gateway</p>{point}</li>"
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
