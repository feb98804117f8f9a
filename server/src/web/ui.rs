//! The board: its pages rendered by Leptos, its functions under `/ui`, its files from the embedded site.
//!
//! Pages and functions get the [`Backend`] as a context, bound to the caller; without script a form's function sends the
//! browser back to where it came from. A page's scripts run only with this answer's nonce.

mod claims;
mod site;

use std::sync::{Arc, LazyLock};

use axum::{
    Router,
    body::Body,
    extract::{FromRef, OriginalUri, Request, State},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, Uri, header, request::Parts},
    middleware,
    response::{IntoResponse, Response},
};
use fuseboard_app::{
    App as Board,
    backend::{Answer, Backend},
    bundle, shell,
};
use leptos::{
    IntoView,
    config::LeptosOptions,
    context::{provide_context, use_context},
    nonce::use_nonce,
};
use leptos_axum::{AxumRouteListing, LeptosRoutes, ResponseOptions, generate_route_list};

use super::{caller, problem, state::Admin};
use crate::{app::App, backend::Caller};

/// What a page may load; `'wasm-unsafe-eval'` is what compiling the board's wasm needs.
fn policy(nonce: &str) -> String {
    format!(
        "default-src 'self'; script-src 'self' 'nonce-{nonce}' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; object-src 'none'; base-uri 'self'; form-action 'self'; frame-ancestors 'none'"
    )
}

/// Listed once, before the first page: while Leptos lists routes, a page that another thread renders waits for its
/// data for ever.
static ROUTES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| generate_route_list(Board));

/// What anything else may: nothing.
const NOTHING: HeaderValue = HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'");

/// The pages, and with them each function under its own method: what acts cannot be asked for by GET.
pub fn pages(admin: &Admin) -> Router<Admin> {
    let options = LeptosOptions::from_ref(admin);
    if let Some(fault) = site::fault() {
        tracing::warn!("{fault}");
    }
    Router::new()
        .leptos_routes_with_context(admin, ROUTES.clone(), contexts(admin.app().clone()), move || document(&options))
        .layer(middleware::from_fn(claims::genuine))
}

fn document(options: &LeptosOptions) -> impl IntoView + use<> {
    let mut options = options.clone();
    // A site that was built by other means has one bundle with everything.
    if site::in_bundles() {
        let path = use_context::<Parts>().map(|parts| parts.uri.path().to_owned());
        options.output_name = bundle(path.as_deref().unwrap_or_default()).into();
    }
    shell(options, site::runs())
}

/// A file of the site, or, for a browser, the board's own page that says there is nothing.
pub async fn elsewhere(State(admin): State<Admin>, request: Request) -> Response {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        return problem::not_found(OriginalUri(request.uri().clone())).await.into_response();
    }
    if let Some(file) = site::file(request.uri().path(), request.headers()) {
        return file;
    }
    if !wants_page(request.headers()) {
        return problem::not_found(OriginalUri(request.uri().clone())).await.into_response();
    }
    // A page's address has no slash at its end; one that was typed with it means the page.
    if let Some(location) = without_slash(request.uri()) {
        return (StatusCode::PERMANENT_REDIRECT, [(header::LOCATION, location)]).into_response();
    }
    let options = LeptosOptions::from_ref(&admin);
    let render = leptos_axum::render_app_async_with_context(contexts(admin.app().clone()), move || document(&options));
    let mut page = render(request).await;
    if page.status() == StatusCode::OK {
        *page.status_mut() = StatusCode::NOT_FOUND;
    }
    page
}

fn without_slash(uri: &Uri) -> Option<String> {
    let path = uri.path().strip_suffix('/')?.trim_end_matches('/');
    // Two slashes in front would name another host.
    let path = format!("/{}", path.trim_start_matches('/'));
    Some(uri.query().map_or_else(|| path.clone(), |query| format!("{path}?{query}")))
}

/// What every answer carries; a page has set its own policy already.
pub async fn harden(mut response: Response<Body>) -> Response<Body> {
    let headers = response.headers_mut();
    headers.entry(header::CONTENT_SECURITY_POLICY).or_insert(NOTHING);
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::X_FRAME_OPTIONS, HeaderValue::from_static("DENY"));
    // Forms without script find their way back by the Referer.
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(HeaderName::from_static("cross-origin-resource-policy"), HeaderValue::from_static("same-origin"));
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

fn contexts(app: Arc<App>) -> impl Fn() + Clone + Send + Sync + 'static {
    move || {
        let backend: Arc<dyn Backend> = Arc::new(Caller::new(app.clone(), caller::at_board));
        provide_context(backend);
        let Some(options) = use_context::<ResponseOptions>() else { return };
        if let Some(policy) = use_nonce().and_then(|nonce| HeaderValue::from_str(&policy(&nonce)).ok()) {
            options.insert_header(header::CONTENT_SECURITY_POLICY, policy);
        }
        let plain = use_context::<Parts>().is_some_and(|parts| wants_page(&parts.headers));
        let answer: Arc<dyn Answer> = Arc::new(PageAnswer { options, plain });
        provide_context(answer);
    }
}

struct PageAnswer {
    options: ResponseOptions,
    /// A browser without script follows redirects; the running board reads the answer itself.
    plain: bool,
}

impl Answer for PageAnswer {
    fn status(&self, status: u16) {
        if let Ok(status) = StatusCode::from_u16(status) {
            self.options.set_status(status);
        }
    }

    fn refuse(&self, status: u16, again: &str) {
        if self.plain {
            self.land(again);
        } else {
            self.status(status);
        }
    }

    fn land(&self, path: &str) {
        if let (true, Ok(location)) = (self.plain, HeaderValue::from_str(&claims::marked(path))) {
            self.options.set_status(StatusCode::SEE_OTHER);
            self.options.insert_header(header::LOCATION, location);
        }
    }
}

fn wants_page(headers: &HeaderMap) -> bool {
    headers
        .get_all(header::ACCEPT)
        .iter()
        .any(|accept| accept.to_str().is_ok_and(|accept| accept.contains("text/html")))
}
