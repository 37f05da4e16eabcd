//! READ DEFECT DATA (SBC-3, clauses 5.17 and 5.18): no back end knows of defects, so both lists are empty.

use super::Response;
use linerate_wire::scsi::{Sense, SenseKey, asc};

/// Formats of address descriptors (SBC-3, clause 6.2): short and long block.
const SHORT: u8 = 0;
const LONG: u8 = 3;

/// Appends a header without a list behind it; returns the response after it.
pub(super) fn report(twelve: bool, primary: bool, grown: bool, format: u8, to: &mut Vec<u8>) -> Response {
    // An address in another format has no meaning here: the list comes in one that has (SBC-3, clause 5.17.2).
    let known = matches!(format, SHORT | LONG);
    let flags = u8::from(primary) << 4 | u8::from(grown) << 3 | if known { format } else { LONG };
    to.extend([0, flags, 0, 0]);
    if twelve {
        to.extend([0; 4]);
    }
    if known {
        return Response::good(0);
    }
    Response::check(&Sense::new(SenseKey::RECOVERED_ERROR, asc::DEFECT_LIST))
}
