//! The board's own functions: what pages are loaded with and what forms do. Each asks the [`Backend`] it finds in its
//! context; the addresses are written out, so that two builds of one board agree on them.

use leptos::{prelude::*, server_fn::codec::GetUrl};

use self::text::{JsonText, TextEncoding};

use crate::{backend::Refusal, panel::PanelView, story::StoryView, wire::breaker::Breaker};

#[cfg(feature = "ssr")]
mod ask;
pub mod text;

/// Everything the panel shows.
#[server(LoadPanel, prefix = "/ui", endpoint = "panel", input = GetUrl, output = JsonText)]
pub async fn load_panel(range: String) -> Result<PanelView, Refusal> {
    ask::panel(&*ask::backend()?, &range).await
}

/// Everything a breaker's page shows.
#[server(LoadStory, prefix = "/ui", endpoint = "breaker", input = GetUrl, output = JsonText)]
pub async fn load_story(id: String, range: String) -> Result<StoryView, Refusal> {
    ask::story(&*ask::backend()?, id, &range).await
}

/// What an operator's form does: `what` is `reset`, `force-open`, `force-closed` or `release`.
#[server(Act, prefix = "/ui", endpoint = "act", output = JsonText)]
pub async fn act(
    #[server(default)] what: String,
    #[server(default)] id: String,
    #[server(default)] by: String,
    #[server(default)] reason: String,
    #[server(default)] end: String,
    #[server(default)] end_override: String,
) -> Result<Breaker, Refusal> {
    ask::act(&*ask::backend()?, ask::Form { what, id, by, reason, end, end_override }).await
}

impl FromServerFnError for Refusal {
    type Encoder = TextEncoding;

    fn from_server_fn_error(error: ServerFnErrorErr) -> Self {
        let (status, detail) = match error {
            ServerFnErrorErr::Request(_) => {
                (503, "The server did not answer. It may be restarting; try again in a moment.".into())
            }
            ServerFnErrorErr::Args(error) | ServerFnErrorErr::MissingArg(error) => {
                (422, format!("The form was not complete: {error}."))
            }
            other => (500, format!("The board could not read the server's answer: {other}. Reload the page.")),
        };
        #[cfg(feature = "ssr")]
        if let Some(answer) = use_context::<std::sync::Arc<dyn crate::backend::Answer>>() {
            answer.refuse(status, "/");
        }
        Self { status, detail, field: None, applied: false }
    }
}
