//! The board's functions as the browser calls them: one way to ask and one way to send a form, with the browser's own
//! `fetch`. The server's halves are in [`crate::api`]; what goes wrong on the way is a [`Refusal`] like any other.

use crate::{
    backend::Refusal, evidence::Spot, format::query_value, panel::PanelView, range::Window, story::StoryView,
    wire::timeline::Moment,
};

/// Everything the panel shows.
///
/// # Errors
/// The server refused, or did not answer.
pub async fn panel(window: Window) -> Result<PanelView, Refusal> {
    get(&format!("/ui/panel?range={}", query_value(&window.word()))).await
}

/// Everything a breaker's page shows.
///
/// # Errors
/// The server refused, or did not answer.
pub async fn story(id: &str, window: Window) -> Result<StoryView, Refusal> {
    get(&format!("/ui/breaker?id={}&range={}", query_value(id), query_value(&window.word()))).await
}

/// What is on record around a point in time of one breaker.
///
/// # Errors
/// The server refused, or did not answer.
pub async fn moment(id: &str, spot: Spot) -> Result<Moment, Refusal> {
    get(&format!("/ui/moment?id={}&from_ms={}&to_ms={}", query_value(id), spot.begins_ms(), spot.ends_ms())).await
}

#[cfg(feature = "browser")]
pub use browser::{get, post};

#[cfg(feature = "browser")]
mod browser {
    use serde::de::DeserializeOwned;
    use wasm_bindgen::{JsCast, JsValue};
    use wasm_bindgen_futures::JsFuture;
    use web_sys::{Headers, Request, RequestInit, Response};

    use crate::backend::Refusal;

    /// Asks for something.
    ///
    /// # Errors
    /// The server refused, or did not answer.
    pub async fn get<T: DeserializeOwned>(path: &str) -> Result<T, Refusal> {
        read(send(path, "GET", None).await).await
    }

    /// Sends a form's fields.
    ///
    /// # Errors
    /// The server refused, or did not answer.
    pub async fn post<T: DeserializeOwned>(path: &str, fields: &str) -> Result<T, Refusal> {
        read(send(path, "POST", Some(fields)).await).await
    }

    async fn send(path: &str, method: &str, fields: Option<&str>) -> Result<Response, JsValue> {
        let headers = Headers::new()?;
        headers.set("accept", "application/json")?;
        let init = RequestInit::new();
        init.set_method(method);
        if let Some(fields) = fields {
            headers.set("content-type", "application/x-www-form-urlencoded")?;
            init.set_body(&JsValue::from_str(fields));
        }
        init.set_headers(&headers);
        let request = Request::new_with_str_and_init(path, &init)?;
        let window = web_sys::window().ok_or(JsValue::NULL)?;
        JsFuture::from(window.fetch_with_request(&request)).await?.dyn_into()
    }

    async fn read<T: DeserializeOwned>(sent: Result<Response, JsValue>) -> Result<T, Refusal> {
        let response = sent.map_err(|_| unanswered())?;
        let text = JsFuture::from(response.text().map_err(|_| unanswered())?).await.map_err(|_| unanswered())?;
        let text = text.as_string().unwrap_or_default();
        if response.ok() {
            return serde_json::from_str(&text).map_err(|error| unread(&error));
        }
        Err(serde_json::from_str(&text).unwrap_or_else(|error| unread(&error)))
    }

    fn unanswered() -> Refusal {
        refusal(503, "The server did not answer. It may be restarting; try again in a moment.".into())
    }

    fn unread(error: &serde_json::Error) -> Refusal {
        refusal(500, format!("The board could not read the server's answer: {error}. Reload the page."))
    }

    fn refusal(status: u16, detail: String) -> Refusal {
        Refusal { status, detail, field: None, applied: false }
    }
}

#[cfg(not(feature = "browser"))]
pub use elsewhere::{get, post};

#[cfg(not(feature = "browser"))]
mod elsewhere {
    use crate::backend::Refusal;

    /// Nothing asks on the server: pages are rendered from the backend itself.
    ///
    /// # Errors
    /// Always.
    pub async fn get<T>(_path: &str) -> Result<T, Refusal> {
        Err(nobody())
    }

    /// See [`get`].
    ///
    /// # Errors
    /// Always.
    pub async fn post<T>(_path: &str, _fields: &str) -> Result<T, Refusal> {
        Err(nobody())
    }

    fn nobody() -> Refusal {
        Refusal { status: 500, detail: "Only a browser asks for this.".into(), field: None, applied: false }
    }
}
