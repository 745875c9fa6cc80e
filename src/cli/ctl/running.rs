//! A crawl that runs: through its socket.

use super::super::{Answer, Common, Exit, Failed};
use super::args::CtlArgs;
use super::{print, stopped};
use crate::control::{Client, ClientError, Reply, Request};
use crate::crawl::steer::{Kind, Order, Refusal};

/// Gives an order.
pub(in crate::cli) fn ctl(common: &Common, args: &CtlArgs) -> Answer {
    let order = args.order.order().map_err(|why| Failed::with(Exit::Usage, why))?;
    let config = common.load(&[])?.config;
    let request = order.clone().map_or(Request::Status, Request::Order);
    let reply = Client::connect(&config.dir).and_then(|mut client| client.ask(&request));
    match reply {
        Ok(Reply::Status(status)) => print::status(common, &status),
        Ok(Reply::Said(said)) => print::said(common, said),
        Err(error @ ClientError::NotRunning(_)) => match order {
            Some(order) if lasts(&order) => stopped::change(common, &config, &order, error),
            Some(_) | None => Err(Failed::with(Exit::Nothing, error)),
        },
        Err(error) => Err(Failed::with(Exit::Internal, format!("failed to {error}"))),
    }
}

/// Returns true for an order that a crawl which does not run can be given.
fn lasts(order: &Order) -> bool {
    !matches!(order, Order::Stop | Order::Abort | Order::Log { .. })
}

/// Returns the failure that a refusal is.
pub(super) fn refused(refusal: &Refusal) -> Failed {
    let exit = match refusal.kind {
        Kind::Usage => Exit::Usage,
        Kind::Nothing => Exit::Nothing,
        Kind::Refused => Exit::Refused,
    };
    Failed::with(exit, &refusal.text)
}
