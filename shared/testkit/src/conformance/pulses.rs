//! Pulses: a beat is stored on the one that was read, of sweepers and of workers apart.

use minutehand_domain::firing::{Outage, Pulse};
use minutehand_ports::store::{PulseOf, PulseRecord};

use super::Subject;
use super::firing::at;
use super::subject::at_once;

behaviours! { $ pulses:
    there_is_no_pulse_at_first,
    a_beat_is_stored_only_on_the_one_that_was_read,
    one_beat_of_many_wins,
}

fn pulse(second: i64) -> Pulse {
    let outages = vec![Outage { from: at(second - 700), until: at(second - 5) }];
    Pulse { beat_at: Some(at(second)), outages, ..Pulse::default() }
}

async fn there_is_no_pulse_at_first(subject: &Subject) {
    assert_eq!(subject.store.read_pulses().await.unwrap(), PulseRecord::default());
    let none = Some(at(0));
    assert!(!subject.store.beat(PulseOf::Sweepers, none, &pulse(10)).await.unwrap());
    assert_eq!(subject.store.read_pulses().await.unwrap(), PulseRecord::default());
}

async fn a_beat_is_stored_only_on_the_one_that_was_read(subject: &Subject) {
    let beat = async |of, as_read: Option<i64>, second| {
        subject.store.beat(of, as_read.map(at), &pulse(second)).await.unwrap()
    };
    assert!(beat(PulseOf::Sweepers, None, 10).await);
    // The other pulse is another one.
    assert!(beat(PulseOf::Workers, None, 11).await);
    assert!(!beat(PulseOf::Sweepers, None, 12).await);
    assert!(!beat(PulseOf::Sweepers, Some(11), 12).await);
    assert!(beat(PulseOf::Sweepers, Some(10), 20).await);
    let stored = PulseRecord { sweepers: pulse(20), workers: pulse(11) };
    assert_eq!(subject.store.read_pulses().await.unwrap(), stored);
}

async fn one_beat_of_many_wins(subject: &Subject) {
    for (before, now) in [(None, 10), (Some(10), 20)] {
        let beats = at_once(16, subject.clone(), |subject, n| async move {
            // Each is another one, so that the winner can be told.
            let pulse = Pulse { beat_at: Some(at(now)), ..pulse(now + i64::from(n)) };
            let beat = subject.store.beat(PulseOf::Workers, before.map(at), &pulse);
            (beat.await.unwrap(), pulse)
        });
        let mut beats = beats.await;
        beats.retain(|(is_stored, _)| *is_stored);
        let [(_, winner)] = beats.as_slice() else { panic!("one wins: {beats:?}") };
        assert_eq!(subject.store.read_pulses().await.unwrap().workers, *winner);
    }
}
