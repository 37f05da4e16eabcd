//! The far end as its own doctor sees it.

use super::line::Line;
use super::near::Far;
use super::words::Request;
use crate::doctor::{Load, Side};
use linerate_host::Rtnetlink;
use linerate_rt::Stop;

/// Has the far end examine its interface on the way to this machine. Nothing is changed.
///
/// # Errors
/// One line with the mend.
pub fn examined(far: &Far, loads: &[Load], stop: &Stop) -> Result<Side, String> {
    let wrong = |e: linerate_host::Error| format!("--remote: {e}");
    let address = far.address()?;
    let source = Rtnetlink::open().and_then(|mut links| links.path_to(address)).map_err(wrong)?.source;
    let mut line = Line::open(far, stop)?;
    line.ask(Request::Path(source), stop)?;
    let said = line.ask(Request::Doctor(loads.to_vec()), stop)?;
    let there = &far.destination;
    let side: Side = serde_json::from_str(&said).map_err(|e| {
        format!("{there}: what its agent says is not understood ({e}); have the same linerate at both ends")
    })?;
    Ok(Side { at: format!("{there} (linerate {})", line.system), ..side })
}
