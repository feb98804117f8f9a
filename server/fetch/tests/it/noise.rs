//! Hosts that send anything at all. Whatever it is, the call ends, with a verdict and without a panic of ours. The seed is
//! printed with a failure; `FUSEBOARD_SEED=<number>` plays it again.

use fuseboard_breaker::{Phase, ProbeOutcome};
use http::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use crate::support::{
    Bench, Host, Step,
    bench::{AMPLE, upstream},
    secure::Secure,
    whole,
};

/// The next number of a splitmix64 sequence.
fn roll(dice: &mut u64) -> u64 {
    *dice = dice.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut mixed = *dice;
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn pick<'a, T>(dice: &mut u64, from: &'a [T]) -> &'a T {
    &from[usize::try_from(roll(dice) % from.len() as u64).unwrap()]
}

fn seed() -> u64 {
    let seed = std::env::var("FUSEBOARD_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or_else(rand::random);
    println!("FUSEBOARD_SEED={seed}");
    seed
}

/// Pieces of answers and of nothing.
const PIECES: [&[u8]; 24] = [
    b"HTTP/1.1 200 OK\r\n",
    b"HTTP/1.0 200\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\n",
    b"HTTP/1.1 204 No Content\r\n",
    b"HTTP/1.1 999 \xff\r\n",
    b"HTTP/2.0 200 OK\r\n",
    b"content-length: 5\r\n",
    b"content-length: 18446744073709551616\r\n",
    b"content-length: -1\r\n",
    b"transfer-encoding: chunked\r\n",
    b"transfer-encoding: gzip, chunked\r\n",
    b"connection: close, x-a\r\n",
    b"retry-after: 0000000000000000000000000000009\r\n",
    b"location: http://[::1]:99999/\r\n",
    b"x-a: \xfe\xff\r\n",
    b" folded\r\n",
    b": nameless\r\n",
    b"\r\n",
    b"\n\n",
    b"5\r\nhello\r\n",
    b"ffffffffffffffffff\r\n",
    b"0\r\n\r\n",
    b"0\r\nx-sum: 1\r\n\r\n",
    b"\0",
];

#[tokio::test]
async fn no_bytes_of_a_host_leave_a_call_without_a_verdict() {
    let mut dice = seed();
    for _ in 0..150 {
        let mut bytes = Vec::new();
        for _ in 0..=roll(&mut dice) % 8 {
            match roll(&mut dice) % 5 {
                0 => bytes.extend(roll(&mut dice).to_le_bytes()),
                _ => bytes.extend(pick::<&[u8]>(&mut dice, &PIECES).iter()),
            }
        }
        let shown = String::from_utf8_lossy(&bytes).into_owned();
        let steps = [Step::Send(bytes), pick(&mut dice, &[Step::Close, Step::Reset]).clone()];
        let host = Host::start(move |_| steps.to_vec()).await;
        let bench = Bench::new();
        let method = pick(&mut dice, &[Method::GET, Method::HEAD, Method::POST]).clone();
        ends(&bench, &host.url("/"), method, &shown).await;
    }
}

async fn ends(bench: &Bench, url: &str, method: Method, shown: &str) {
    let npm = upstream(url, |upstream| {
        (upstream.timeouts.first_byte, upstream.timeouts.between_bytes) = (AMPLE, AMPLE);
    });
    if let Ok(response) = bench.call(&npm, method, "/").await {
        // Whether it is whole, the verdict says.
        let _ = whole(response).await;
    }
    let record = bench.settled().await;
    assert!(matches!(record.outcome, ProbeOutcome::Settled(_)), "{shown:?}: {record:?}");
    assert_ne!(record.phase, Some(Phase::Panic), "{shown:?}");
    assert_eq!(bench.breaker(&npm.breaker_id()).snapshot().in_flight, 0, "{shown:?}");
}

#[tokio::test]
async fn no_frames_of_an_h2_host_leave_a_call_without_a_verdict() {
    let mut dice = seed();
    for _ in 0..60 {
        let mut bytes = vec![0, 0, 0, 4, 0, 0, 0, 0, 0];
        for _ in 0..=roll(&mut dice) % 6 {
            let length = roll(&mut dice) % 20;
            let kind = u8::try_from(roll(&mut dice) % 11).unwrap();
            let flags = u8::try_from(roll(&mut dice) % 64).unwrap();
            let stream = *pick(&mut dice, &[0, 1, 1, 1, 2, 3, 255]);
            bytes.extend([0, 0, u8::try_from(length).unwrap(), kind, flags, 0, 0, 0, stream]);
            // 0x88 is ":status: 200", which lets some of them begin an answer.
            bytes.extend((0..length).map(|at| if at == 0 { 0x88 } else { roll(&mut dice).to_le_bytes()[0] }));
        }
        let secure = Secure::new(b"h2").await;
        let (bench, url, shown) = (secure.bench(), secure.url(), format!("{bytes:?}"));
        let serving = tokio::spawn(async move {
            while let Some(mut stream) = secure.accept().await {
                let mut preface = [0; 24];
                if stream.read_exact(&mut preface).await.is_ok() && stream.write_all(&bytes).await.is_ok() {
                    let _ = stream.shutdown().await;
                    let _ = stream.read_to_end(&mut Vec::new()).await;
                }
            }
        });
        ends(&bench, &url, Method::GET, &shown).await;
        serving.abort();
    }
}
