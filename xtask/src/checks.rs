//! `make test` at its end: which checks passed, how long each took, and how many tests that was.
//!
//! A check is a make target, so what CI runs is what a person can run alone. All run, also after one has failed: one
//! look shows everything that is wrong. A check that hangs is ended and counts as failed, so that the others still speak.

use std::{
    fmt::Write as _,
    io::{BufRead, BufReader, Read, Write as _},
    path::Path,
    process::Stdio,
    sync::{Mutex, mpsc},
    thread,
    time::{Duration, Instant},
};

use crate::{Outcome, process};

/// Four times what the longest check takes on two cores, all of it compiled anew.
const LIMIT: Duration = Duration::from_secs(40 * 60);

/// Tests as the runners counted them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Tally {
    passed: u64,
    failed: u64,
}

struct Check {
    name: String,
    good: bool,
    took: Duration,
    /// It ran past its limit and was ended.
    hung: bool,
    tally: Tally,
}

pub(crate) fn run(root: &Path, targets: &[String]) -> Outcome {
    let checks = targets.iter().map(|target| one(root, target, LIMIT)).collect::<Outcome<Vec<_>>>()?;
    println!("\n{}", summary(&checks));
    if checks.iter().all(|check| check.good) { Ok(()) } else { Err("make test failed, see above".to_owned()) }
}

fn one(root: &Path, target: &str, limit: Duration) -> Outcome<Check> {
    println!("\n== {target}");
    let started = Instant::now();
    let mut child = process::command("make", root)
        .args(["--no-print-directory", target])
        .env("FORCE_COLOR", "0")
        .env_remove("MAKEFLAGS")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("make {target} could not be started: {error}"))?;
    let tally = Mutex::new(Tally::default());
    let (ended, end) = mpsc::channel::<()>();
    let family = child.id();
    let hung = thread::scope(|scope| {
        let watch = scope.spawn(move || {
            let hung = end.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if hung {
                process::end_family(family);
            }
            hung
        });
        let stderr = child.stderr.take().map(|lines| scope.spawn(|| pass_on(lines, &tally)));
        if let Some(lines) = child.stdout.take() {
            pass_on(lines, &tally);
        }
        let _ = stderr.map(thread::ScopedJoinHandle::join);
        drop(ended);
        watch.join().unwrap_or(false)
    });
    let status = child.wait().map_err(|error| format!("make {target}: {error}"))?;
    let tally = tally.into_inner().map_err(|_| "the output could not be read".to_owned())?;
    let good = status.success() && tally.failed == 0;
    Ok(Check { name: target.to_owned(), good, took: started.elapsed(), hung, tally })
}

fn pass_on(from: impl Read, tally: &Mutex<Tally>) {
    for line in BufReader::new(from).split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line).into_owned();
        let mut out = std::io::stdout().lock();
        // A closed terminal must not end the checks.
        let _ = writeln!(out, "{line}");
        if let Ok(mut tally) = tally.lock() {
            let seen = counted(&line);
            tally.passed += seen.passed;
            tally.failed += seen.failed;
        }
    }
}

/// The closing lines of cargo's and Playwright's runs.
fn counted(line: &str) -> Tally {
    let mut tally = Tally::default();
    let line = line.trim();
    let parts: Vec<&str> = match line.strip_prefix("test result: ") {
        Some(result) => result.split(['.', ';']).collect(),
        None => vec![line.split(" (").next().unwrap_or_default()],
    };
    for part in parts {
        let Some((number, word)) = part.trim().split_once(' ') else { continue };
        let Ok(number) = number.parse::<u64>() else { continue };
        match word {
            "passed" => tally.passed += number,
            "failed" | "did not run" | "flaky" | "interrupted" => tally.failed += number,
            _ => {}
        }
    }
    tally
}

fn summary(checks: &[Check]) -> String {
    let mut text = String::from("summary\n");
    let mut sum = Tally::default();
    for check in checks {
        // A check that failed without a failed test, a formatting say, counts as one.
        let failed = if check.good { 0 } else { check.tally.failed.max(1) };
        sum.passed += check.tally.passed;
        sum.failed += failed;
        let word = match check {
            Check { good: true, .. } => "passed",
            Check { hung: true, .. } => "HUNG  ",
            _ => "FAILED",
        };
        let minutes = check.took.as_secs_f64() / 60.0;
        let _ = write!(text, "  {:<12} {word}  {minutes:5.1} min", check.name);
        let _ = match check.tally {
            Tally { passed: 0, failed: 0 } => writeln!(text),
            Tally { passed, failed } => writeln!(text, "  {passed} tests passed, {failed} failed"),
        };
    }
    let minutes = checks.iter().map(|check| check.took.as_secs_f64()).sum::<f64>() / 60.0;
    let _ = write!(text, "  in all {minutes:.1} min\n\n{} passed, {} failed", sum.passed, sum.failed);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_counted_and_others_are_not() {
        let tally = |passed, failed| Tally { passed, failed };
        let cargo =
            "test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 7 filtered out; finished in 0.10s";
        assert_eq!(counted(cargo), tally(12, 3));
        assert_eq!(counted("  14 passed (1.2m)"), tally(14, 0));
        assert_eq!(counted("  2 did not run"), tally(0, 2));
        assert_eq!(counted("  1 flaky"), tally(0, 1));
        assert_eq!(counted("running 14 tests"), tally(0, 0));
        assert_eq!(counted("12 passed over the threshold"), tally(0, 0));
    }

    #[test]
    fn a_check_that_failed_without_a_test_is_in_the_last_line() {
        let check = |name: &str, good, passed, failed| Check {
            name: name.to_owned(),
            good,
            took: Duration::from_secs(90),
            hung: false,
            tally: Tally { passed, failed },
        };
        let text = summary(&[check("rust", true, 40, 0), check("fmt-check", false, 0, 0), check("e2e", false, 5, 2)]);
        assert!(text.ends_with("\n45 passed, 3 failed"), "{text}");
        assert!(text.contains("rust         passed    1.5 min  40 tests passed, 0 failed"), "{text}");
    }

    #[test]
    fn a_check_that_hangs_is_ended_with_all_it_started() {
        let name = format!("fuseboard-checks-{}", std::process::id());
        let root = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&root).expect("a folder");
        // `tail` waits for ever and, as make's grandchild, holds our end of the pipe.
        std::fs::write(root.join("Makefile"), "stuck:\n\t@echo started; (tail -f /dev/null; true); true\n")
            .expect("a file");
        let check = one(&root, "stuck", Duration::from_millis(300)).expect("make is there");
        std::fs::remove_dir_all(&root).expect("the folder");
        assert!(check.hung && !check.good);
        assert!(summary(&[check]).contains("stuck        HUNG"));
    }
}
