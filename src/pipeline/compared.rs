//! A frame of a correlated run as a comparison of sessions takes it.
//! Never compares.

use crate::diff::{Input, Side};
use crate::pdu;

use super::Correlated;

impl Correlated<'_> {
    /// What of the frame is compared.
    pub fn compared(&self) -> Input<'_> {
        let (job, decoded, said) = (self.job, self.decoded, self.digest);
        let lane = &job.frame.lane;
        let unary = matches!(lane.protocol, pdu::Protocol::ConnectUnary | pdu::Protocol::ConnectGet);
        Input {
            frame: job.number,
            call: lane.call,
            side: match lane.side {
                pdu::Side::Request => Side::Client,
                pdu::Side::Response => Side::Server,
            },
            rpc: lane.rpc.as_deref(),
            ids: &job.joined.ids,
            carried: said.carried.map(|c| c.order),
            stage: self.placed.stage,
            ty: decoded.ty,
            message: &decoded.message,
            payload: &decoded.payload,
            kind: decoded.kind.as_deref(),
            end: said.status.as_ref(),
            whole: unary && job.frame.whole,
            redundant: self.placed.repeated || said.pulse.is_some(),
        }
    }
}
