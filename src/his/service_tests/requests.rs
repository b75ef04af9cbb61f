//! Requests that cannot be performed.

use super::*;
use crate::exit::Handling::Done;
use crate::query::Query;
use crate::reason::Reason;
use crate::registry::MOST_PROFILERS;

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
