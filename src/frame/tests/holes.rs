//! Bodies with holes: what is cut, and where frames are found again.

use super::*;

#[test]
fn gaps() {
    // Inside a payload: that frame only.
    check(
        "00 00000006 0801 ..2 0802 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @0 00 6 message 0801 cut",
            "  warning net.gap: 2 bytes of this frame's 6 are missing from the capture",
            "1 @11 02 2 end 7b7d",
        ],
    );
    check(
        "00 00000002 ..2 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @0 00 2 message  cut",
            "  warning net.gap: 2 bytes of this frame's 2 are missing from the capture",
            "1 @7 02 2 end 7b7d",
        ],
    );
    // Over headers: two frames in a row are found again.
    check(
        "00 00000004 08 ..12 ffff000000 00 00000003 0a0161 00 00000002 0801 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @0 00 4 message 08 cut",
            "  warning net.gap: 3 bytes of this frame's 4 are missing from the capture",
            "1 @23 00 3 message 0a0161",
            "  warning net.gap: 12 bytes are missing from the capture before this frame and 5 more were skipped; that a frame begins here is assumed",
            "2 @31 00 2 message 0801",
            "3 @38 02 2 end 7b7d",
        ],
    );
    // The exact end counts as a second header.
    check(
        "..7 ffff 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @9 02 2 end 7b7d",
            "  warning net.gap: 7 bytes are missing from the capture before this frame and 2 more were skipped; that a frame begins here is assumed",
        ],
    );
    let label = "response of call 1, pkg.Service/Method";
    check(
        "00 00000000 0000 ..7 ffff",
        End::CaptureEnd,
        &[
            "0 @0 00 0 message ",
            "1 @5 - 2 message 0000 cut",
            "  warning net.gap: 7 bytes are missing from the capture in a frame header, 2 of 5 bytes present",
            &format!(
                "  warning net.gap: {label}: 7 bytes are missing from the capture, and no frame was found in the 2 after"
            ),
            &format!("  note frame.no-end: {label}: no end-stream frame: the capture ends first"),
        ],
    );
}

#[test]
fn a_search_steps_over_holes() {
    // The frame that the hole lies in says where the next one is.
    check(
        "..7 ffff 00 00000004 0801 ..2 00 00000003 0a0161 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @9 00 4 message 0801 cut",
            "  warning net.gap: 7 bytes are missing from the capture before this frame and 2 more were skipped; that a frame begins here is assumed",
            "  warning net.gap: 2 bytes of this frame's 4 are missing from the capture",
            "1 @18 00 3 message 0a0161",
            "2 @26 02 2 end 7b7d",
        ],
    );
    // A hole over the next header leaves the two after it.
    check(
        "..7 ffff 00 00000002 0801 ..9 00 00000003 0a0161 02 00000002 7b7d",
        End::Complete,
        &[
            "0 @25 00 3 message 0a0161",
            "  warning net.gap: 7 bytes are missing from the capture before this frame and 18 more were skipped; that a frame begins here is assumed",
            "1 @33 02 2 end 7b7d",
        ],
    );
}

#[test]
fn a_gap_of_unknown_length() {
    let all = parts("00 00000000 ..? 0000000000 00 00000003 0a0161 02 00000002 7b7d", End::Complete);
    let lane = lane(Protocol::ConnectStream, Side::Response);
    let (frames, findings) = run_with(&Limits::default(), &lane, all.clone());
    assert_eq!(frames.iter().map(|f| f.offset).collect::<Vec<_>>(), [0, 10, 18]);
    assert!(findings.is_empty() && frames[1].findings[0].text.contains("an unknown number"));
    assert_eq!((frames, findings), run_with(&Limits::default(), &lane, split(&all)));
}
