//! The real binary, as a process that can be killed.

use std::{
    io,
    path::Path,
    process::{ExitStatus, Stdio},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, Command},
    task::JoinHandle,
};

use super::soon;

/// `fuseboard serve` with a store of its own and free ports.
pub(crate) struct Process {
    pub(crate) child: Child,
    /// `host:port` of the gateway.
    pub(crate) gateway: String,
    /// `host:port` of board and API.
    pub(crate) board: String,
    log: Option<JoinHandle<String>>,
}

/// The binary with nothing of this process's environment.
fn bare(folder: &Path, args: &[&str]) -> Command {
    bare_at(env!("CARGO_BIN_EXE_fuseboard").as_ref(), folder, args)
}

fn bare_at(program: &Path, folder: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).env_clear();
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

/// Runs a command to its end: exit code, standard output, standard error.
pub(crate) async fn run(folder: &Path, args: &[&str]) -> (Option<i32>, String, String) {
    let output = soon("the binary's own end", bare(folder, args).output()).await.expect("the binary starts");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// The same with these names in its environment and this on its standard input.
pub(crate) async fn run_with(
    folder: &Path,
    args: &[&str],
    environment: &[(&str, &str)],
    input: &str,
) -> (Option<i32>, String, String) {
    let mut command = bare(folder, args);
    let mut child = command.envs(environment.iter().copied()).stdin(Stdio::piped()).spawn().expect("the binary starts");
    let mut stdin = child.stdin.take().expect("its input");
    let ending = async {
        // One that takes no input may end before it is written.
        let _ = stdin.write_all(input.as_bytes()).await;
        drop(stdin);
        child.wait_with_output().await
    };
    let output = soon("the binary's own end", ending).await.expect("it ends");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

fn command(store: &Path, upstreams: &[String]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fuseboard"));
    command.args(["serve", "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0"]);
    command.arg("--store").arg(format!("sqlite:{}", store.display()));
    for upstream in upstreams {
        command.arg("--upstream").arg(upstream);
    }
    if let Some(folder) = store.parent() {
        command.current_dir(folder);
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).kill_on_drop(true);
    command
}

impl Process {
    /// Starts it and waits until it listens.
    pub(crate) async fn start(store: &Path, upstreams: &[String]) -> Self {
        Self::listening(command(store, upstreams).stderr(Stdio::null()).spawn().expect("the binary starts")).await
    }

    /// Starts it in this folder with this configuration and log filter, its log kept for [`Process::terminate`].
    pub(crate) async fn serve(folder: &Path, config: &str, log: &str) -> Self {
        std::fs::write(folder.join("fuseboard.toml"), config).expect("written");
        let args = ["serve", "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log", log];
        let mut child = bare(folder, &args).spawn().expect("the binary starts");
        let mut stderr = child.stderr.take().expect("its log");
        let log = tokio::spawn(async move {
            let mut text = Vec::new();
            let _ = stderr.read_to_end(&mut text).await;
            String::from_utf8_lossy(&text).into_owned()
        });
        Self { log: Some(log), ..Self::listening(child).await }
    }

    /// The same, but whoever read its log is gone.
    pub(crate) async fn serve_unheard(folder: &Path, config: &str) -> Self {
        std::fs::write(folder.join("fuseboard.toml"), config).expect("written");
        let args = ["serve", "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0", "--log", "debug"];
        let mut child = bare(folder, &args).spawn().expect("the binary starts");
        drop(child.stderr.take());
        Self { log: Some(tokio::spawn(async { String::new() })), ..Self::listening(child).await }
    }

    /// Starts it in this folder with this configuration, as another user if one is named.
    pub(crate) async fn serve_as(folder: &Path, config: &str, user: Option<u32>) -> Self {
        std::fs::write(folder.join("fuseboard.toml"), config).expect("written");
        let args = ["serve", "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let mut command = bare(folder, &args);
        if let Some(user) = user {
            // Where that user may run it.
            let own = folder.join("fuseboard");
            let placed = std::fs::hard_link(env!("CARGO_BIN_EXE_fuseboard"), &own);
            placed.or_else(|_| std::fs::copy(env!("CARGO_BIN_EXE_fuseboard"), &own).map(drop)).expect("the binary");
            command = bare_at(&own, folder, &args);
            command.uid(user).gid(user);
        }
        Self::listening(command.stderr(Stdio::null()).spawn().expect("the binary starts")).await
    }

    /// Waits until it says where it listens.
    async fn listening(mut child: Child) -> Self {
        let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
        let (mut gateway, mut board) = (None, None);
        let listening = async {
            while gateway.is_none() || board.is_none() {
                let line = said.next_line().await.expect("it talks").expect("it says where it listens");
                let address = |name| {
                    let rest = line.strip_prefix(name)?.trim().strip_prefix("http://")?;
                    Some(rest.trim_end_matches('/').to_owned())
                };
                if let Some(said) = address("gateway") {
                    gateway = Some(said);
                } else if let Some(said) = address("board") {
                    board = Some(said);
                }
            }
        };
        soon("where it listens", listening).await;
        // Whatever else it says must not fill the pipe.
        tokio::spawn(async move { while let Ok(Some(_)) = said.next_line().await {} });
        let (gateway, board) = (gateway.unwrap_or_default(), board.unwrap_or_default());
        Self { child, gateway, board, log: None }
    }

    /// Ends it as a power cut does.
    pub(crate) async fn kill(&mut self) {
        soon("its end", self.child.kill()).await.expect("it is killed");
    }

    /// Its resident memory in bytes.
    #[cfg(target_os = "linux")]
    pub(crate) fn resident(&self) -> u64 {
        let id = self.child.id().expect("it runs");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).expect("it runs");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a resident size");
        line.split_whitespace().nth(1).and_then(|kilobytes| kilobytes.parse::<u64>().ok()).expect("a number") * 1024
    }

    /// Ends it as a service manager does: what it logged, and how it ended.
    pub(crate) async fn terminate(mut self) -> (String, ExitStatus) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-TERM", &id]).status();
        let sent = soon("kill", sent).await.expect("kill runs");
        assert!(sent.success());
        let status = soon("its end", self.child.wait()).await.expect("it ran");
        let log = self.log.take().expect("only with a log of its own");
        (soon("the rest of its log", log).await.expect("no panic"), status)
    }

    /// Starts it with nothing configured and waits until it says so.
    pub(crate) async fn says(folder: &Path, words: &str) {
        let args = ["serve", "--gateway", "127.0.0.1:0", "--admin", "127.0.0.1:0"];
        let mut child = bare(folder, &args).stderr(Stdio::null()).spawn().expect("the binary starts");
        let mut said = BufReader::new(child.stdout.take().expect("its output")).lines();
        let heard = async { while !said.next_line().await.expect("it talks").expect("it says it").contains(words) {} };
        soon(&format!("{words:?}"), heard).await;
    }

    /// Starts it where it is to be refused: how it ends and what it says on stderr.
    pub(crate) async fn refused(store: &Path) -> (ExitStatus, String) {
        let output = soon("the binary's own end", command(store, &[]).output()).await.expect("the binary starts");
        (output.status, String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

/// One request on a connection of its own: the status and the body as it comes. An error when the server is gone.
pub(crate) async fn request(host: &str, method: &str, path: &str, body: &str) -> io::Result<(u16, String)> {
    let exchange = async {
        let mut connection = TcpStream::connect(host).await?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Content-Length: {length}\r\n\r\n{body}"
        );
        connection.write_all(head.as_bytes()).await?;
        let mut answer = String::new();
        connection.read_to_string(&mut answer).await?;
        let (head, body) = answer.split_once("\r\n\r\n").ok_or(io::ErrorKind::UnexpectedEof)?;
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        Ok((status.ok_or(io::ErrorKind::InvalidData)?, body.to_owned()))
    };
    soon(&format!("an answer to {method} {path}"), exchange).await
}
