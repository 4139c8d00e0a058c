// SPDX-License-Identifier: Apache-2.0
use std::time::Duration;

use super::{Awake, CLOSE_CALLS, Pace};

const LIMIT: Duration = Duration::from_micros(100);

fn close(pace: &mut Pace, calls: u32) {
    (0..calls).for_each(|_| pace.came(LIMIT));
}

#[test]
fn calls_that_follow_closely_are_waited_for_awake() {
    let mut pace = Pace::new(Awake::new(2, LIMIT));
    close(&mut pace, CLOSE_CALLS - 1);
    assert!(pace.stays_awake().is_none());
    close(&mut pace, 1);
    assert!(pace.stays_awake().is_some());
    pace.came(LIMIT * 2);
    assert!(pace.stays_awake().is_none());
    close(&mut pace, CLOSE_CALLS);
    pace.missed();
    assert!(pace.stays_awake().is_none());
    close(&mut pace, CLOSE_CALLS);
    pace.rest();
    close(&mut pace, CLOSE_CALLS);
    assert!(pace.stays_awake().is_none());
}

#[test]
fn half_of_the_workers_sleep() {
    let awake = Awake::new(3, LIMIT);
    let mut paces = [Pace::new(awake.clone()), Pace::new(awake)];
    paces.iter_mut().for_each(|pace| close(pace, CLOSE_CALLS));
    let first = paces[0].stays_awake();
    assert_eq!(first.as_ref().map(|permit| permit.limit()), Some(LIMIT));
    assert!(paces[1].stays_awake().is_none());
    drop(first);
    assert!(paces[1].stays_awake().is_some());
    for (workers, limit) in [(1, LIMIT), (8, Duration::ZERO)] {
        let mut pace = Pace::new(Awake::new(workers, limit));
        (0..CLOSE_CALLS).for_each(|_| pace.came(Duration::ZERO));
        assert!(pace.stays_awake().is_none(), "{workers} workers, {limit:?}");
    }
}
