use std::slice::from_ref;

use super::*;

fn line(depth: u16, step: &str, place: Option<Place>) -> Line {
    let mut line = build::line(depth, step, Tone::Field);
    line.step = step.to_owned();
    line.place = place;
    line
}

#[test]
fn places_are_followed_to_the_bytes_they_were_made_from() {
    let tab = |from| Tab { from, ..Tab::default() };
    let hex = From { tab: 0, start: 10, end: 30, step: 2 };
    let inflated = From { tab: 1, start: 2, end: 9, step: 0 };
    let detail = Detail { tabs: vec![tab(None), tab(Some(hex)), tab(Some(inflated))], ..Detail::default() };
    let place = Place { tab: 1, tag: 1, start: 2, end: 4 };
    assert_eq!(detail.lit(place, 1), Some(place));
    assert_eq!(detail.lit(place, 0), Some(Place { tab: 0, tag: 12, start: 14, end: 18 }));
    assert_eq!(detail.lit(place, 2), None, "a later step is not said to be made from it");
    let place = Place { tab: 2, tag: 0, start: 0, end: 1 };
    assert_eq!(detail.lit(place, 0), Some(Place { tab: 0, tag: 14, start: 14, end: 28 }));
}

#[test]
fn what_is_hidden_is_hidden_where_it_came_from() {
    let hex = From { tab: 0, start: 10, end: 30, step: 2 };
    let mut tabs = vec![Tab::default(), Tab { from: Some(hex), ..Tab::default() }];
    tabs::hide(&mut tabs, Place { tab: 1, tag: 0, start: 2, end: 4 });
    tabs::hide(&mut tabs, Place { tab: 1, tag: 0, start: 3, end: 5 });
    tabs.iter_mut().for_each(Tab::settle);
    assert_eq!((&tabs[0].hidden[..], &tabs[1].hidden[..]), (from_ref(&(14..20)), from_ref(&(2..5))));
}

#[test]
fn paths_and_the_innermost_line() {
    let place = |tag, end| Some(Place { tab: 0, tag, start: tag, end });
    let lines = vec![
        line(0, "", None),
        line(1, "a", place(0, 9)),
        line(2, "b[1]", place(2, 5)),
        line(1, "c", place(9, 12)),
    ];
    let mut detail = Detail { lines, ..Detail::default() };
    detail.settle();
    assert_eq!(
        (detail.path(2), detail.path(3), detail.path(0)),
        ("a.b[1]".into(), "c".into(), String::new())
    );
    assert_eq!(
        (detail.line_at(0, 3), detail.line_at(0, 6), detail.line_at(0, 10)),
        (Some(2), Some(1), Some(3))
    );
    assert_eq!((detail.line_at(0, 50), detail.line_at(1, 3)), (None, None));
}
