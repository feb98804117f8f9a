//! The board's own functions: what pages are loaded with and what forms do. Each asks the [`Backend`] it finds in its
//! context; the addresses are written out, so that scripts and forms agree on them. The browser's halves are in
//! [`crate::fetch`].
//!
//! [`Backend`]: crate::backend::Backend

use leptos::{prelude::*, server_fn::codec::GetUrl};

use self::text::{JsonText, TextEncoding};
use crate::{
    backend::Refusal,
    panel::PanelView,
    range::Window,
    shown::Shown,
    story::StoryView,
    wire::{action::ActionAnswer, command::Undo, timeline::Moment},
};

mod ask;
pub mod text;

/// Everything the panel shows.
#[server(LoadPanel, prefix = "/ui", endpoint = "panel", input = GetUrl, output = JsonText)]
pub async fn load_panel(#[server(default)] range: String) -> Result<PanelView, Refusal> {
    ask::panel(&*ask::backend()?, Window::parse(&range)).await
}

/// Everything a breaker's page shows.
#[server(LoadStory, prefix = "/ui", endpoint = "breaker", input = GetUrl, output = JsonText)]
pub async fn load_story(id: String, #[server(default)] range: String) -> Result<StoryView, Refusal> {
    ask::story(&*ask::backend()?, id, Window::parse(&range)).await
}

/// What is on record around a point in time of one breaker.
#[server(LoadMoment, prefix = "/ui", endpoint = "moment", input = GetUrl, output = JsonText)]
pub async fn load_moment(id: String, from_ms: i64, to_ms: i64) -> Result<Moment, Refusal> {
    ask::moment(&*ask::backend()?, id, from_ms, to_ms).await
}

/// What an operator's form does: `what` is `reset`, `force-open`, `force-closed`, `release` or `probe`.
#[server(Act, prefix = "/ui", endpoint = "act", output = JsonText)]
pub async fn act(
    #[server(default)] what: String,
    #[server(default)] id: String,
    #[server(default)] by: String,
    #[server(default)] reason: String,
    #[server(default)] end: String,
    #[server(default)] end_override: String,
) -> Result<ActionAnswer, Refusal> {
    ask::act(&*ask::backend()?, ask::Form { what, id, by, reason, end, end_override }).await
}

/// What a form on many breakers would do; `ids` with spaces between them.
#[server(Plan, prefix = "/ui", endpoint = "plan", output = JsonText)]
pub async fn plan(#[server(default)] what: String, #[server(default)] ids: String) -> Result<ActionAnswer, Refusal> {
    ask::plan(&*ask::backend()?, &what, &ids).await
}

/// What a form on many breakers does.
#[server(ActOnMany, prefix = "/ui", endpoint = "actions", output = JsonText)]
pub async fn act_on_many(
    #[server(default)] what: String,
    #[server(default)] ids: String,
    #[server(default)] by: String,
    #[server(default)] reason: String,
    #[server(default)] end: String,
    #[server(default)] end_override: String,
) -> Result<ActionAnswer, Refusal> {
    ask::many(&*ask::backend()?, ask::Form { what, id: ids, by, reason, end, end_override }).await
}

/// Puts back what an action of the last ten seconds changed.
#[server(UndoIt, prefix = "/ui", endpoint = "undo", output = JsonText)]
pub async fn undo(
    seq: u64,
    #[server(default)] by: String,
    #[server(default)] reason: String,
    #[server(default)] id: String,
) -> Result<ActionAnswer, Refusal> {
    ask::undo(&*ask::backend()?, Undo { seq, reason, by: Some(by) }, &id).await
}

/// Reads the configuration again.
#[server(Reload, prefix = "/ui", endpoint = "reload", output = JsonText)]
pub async fn reload(
    #[server(default)] by: String,
    #[server(default)] reason: String,
) -> Result<crate::wire::settings::Reloaded, Refusal> {
    ask::reload(&*ask::backend()?, by, reason).await
}

/// The server behind this page.
///
/// # Errors
/// There is none.
pub(crate) fn backend() -> Result<std::sync::Arc<dyn crate::backend::Backend>, Refusal> {
    ask::backend()
}

/// For the panel's page.
///
/// # Errors
/// The panel cannot be read.
pub(crate) async fn panel(shown: Shown) -> Result<PanelView, Refusal> {
    let window = shown.zoom.map(Window::Fixed).or(shown.range.map(Window::Last));
    let backend = ask::backend()?;
    let mut view = ask::panel(&*backend, window).await?;
    if !shown.act.is_empty() && !shown.ids.is_empty() {
        view.plan = ask::plan(&*backend, &shown.act, &shown.ids.join(" ")).await.ok();
    }
    Ok(view)
}

/// For a breaker's page.
///
/// # Errors
/// No such breaker, or it cannot be read.
pub(crate) async fn story(id: String, window: Option<Window>) -> Result<StoryView, Refusal> {
    ask::story(&*ask::backend()?, id, window).await
}

/// Why a form that was sent without script was sent back, from the address it was sent back to.
pub(crate) fn refused(search: &str) -> Option<Refusal> {
    serde_json::from_str(&crate::shown::value(search, "__err")?).ok()
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
        if let Some(answer) = use_context::<std::sync::Arc<dyn crate::backend::Answer>>() {
            answer.refuse(status, "/");
        }
        Self { status, detail, field: None, applied: false }
    }
}
