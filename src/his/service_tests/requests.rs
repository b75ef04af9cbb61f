//! Requests that cannot be performed.

use super::*;
use crate::exit::Handling::Done;
use crate::query::Query;
use crate::reason::Reason;
use crate::registry::{MOST_OF_GUEST, MOST_PROFILERS, Owner};

#[test]
fn a_guest_leaves_places_for_the_machine_and_the_host() {
    let mut bench = Bench::new();
    let mut service = Service::new();
    service.enable(&mut bench);
    let mut start = |owner| {
        let registration = Registration::of(owner, "A", BASIC, false).unwrap();
        let exit = Called::listening("A", &bench, Done);
        let started = service.start(&mut bench, &registration, exit);
        started.map(|started| started.token)
    };
    for _ in 0..MOST_OF_GUEST {
        start(Owner::Guest).unwrap();
    }
    assert_eq!(start(Owner::Guest), Err(Reason::TooManyProfilers));
    for owner in [Owner::Machine, Owner::Host] {
        start(owner).unwrap();
        assert_eq!(start(Owner::Guest), Err(Reason::TooManyProfilers));
    }
}

#[test]
fn a_request_that_cannot_be_performed_has_its_return_and_reason_code() {
    let mut bench = Bench::new();
    let mut service = Service::new();
    let registration = Registration::new("A", BASIC, false).unwrap();
    let exit = |bench: &Bench| Called::listening("A", bench, Done);
    let closed = exit(&bench);
    let refused = service
        .start(&mut bench, &registration, closed)
        .unwrap_err();
    assert_eq!((refused.return_code(), refused.code()), (12, 0x0C01));
    let refused = service.query(&mut bench, &Query::Event, &mut [0; 99]);
    assert_eq!(refused, Err(Reason::NotEnabled));
    service.enable(&mut bench);
    let mut tokens = Vec::new();
    for _ in 0..MOST_PROFILERS {
        let exit = exit(&bench);
        tokens.push(
            service
                .start(&mut bench, &registration, exit)
                .unwrap()
                .token,
        );
    }
    let many = exit(&bench);
    let refused = service.start(&mut bench, &registration, many).unwrap_err();
    assert_eq!(refused, Reason::TooManyProfilers);
    assert!(service.stop(&mut bench, tokens[0]).is_ok());
    let gone = service.stop(&mut bench, tokens[0]).map(|_| ());
    assert_eq!(gone, Err(Reason::Token), "a token is used once");
    let again = exit(&bench);
    let token = service
        .start(&mut bench, &registration, again)
        .unwrap()
        .token;
    assert!(!tokens.contains(&token), "no two profilers have the same");
    assert_eq!(
        Registration::new("NINE CHAR", BASIC, false),
        Err(Reason::Name)
    );
    assert_eq!(Registration::new("", BASIC, false), Err(Reason::Name));
    assert_eq!(
        Registration::new("A       ", BASIC, false).unwrap().name,
        "A"
    );
    assert_eq!(
        Registration::new("A", Events(1), false),
        Err(Reason::Events)
    );
}
