//! netperf's own lines: for each kind of test a header and a line, with or without the processors' use.

use super::View;
use crate::netperf::cpu::letter;
use crate::netperf::table::Transport;
use crate::netperf::units::{name, scaled};
use std::fmt::Write as _;

/// All lines behind the first.
pub(super) fn lines(view: &View<'_>) -> String {
    let (config, outcome) = (view.config, view.outcome);
    let mut text = String::new();
    if !outcome.confident {
        let percent = |width: f64| 100.0 * width;
        let widths = outcome.widths;
        let _ = write!(
            text,
            "!!! WARNING\n\
             !!! Desired confidence was not achieved within the specified iterations.\n\
             !!! This implies that there was variability in the test environment that\n\
             !!! must be investigated before going further.\n\
             !!! Confidence intervals: Throughput      : {:.3}%\n\
             !!!                       Local CPU util  : {:.3}%\n\
             !!!                       Remote CPU util : {:.3}%\n\n",
            percent(widths.result),
            percent(widths.local_cpu),
            percent(widths.remote_cpu)
        );
    }
    let test = config.settings.test;
    let measured = config.settings.local.cpu || config.settings.remote.cpu;
    text += &match (config.verbosity, test.is_transactions(), test.transport) {
        (0, _, transport) => single(view, measured, transport),
        (_, true, _) => transactions(view, measured),
        (_, false, Transport::Tcp) => stream(view, measured),
        (_, false, Transport::Udp) => datagrams(view, measured),
    };
    if config.verbosity > 1 {
        text += &more(view);
    }
    text
}

/// Text behind a line without headers.
fn brand<'a>(view: &View<'a>) -> &'a str {
    view.config.brand.as_deref().filter(|_| !view.config.headers).unwrap_or_default()
}

/// Letters of the ways in which both ends have measured their processors.
fn methods(view: &View<'_>) -> (char, char) {
    let of = |cpu: &Option<crate::netperf::Cpu>| letter(cpu.map_or(0, |cpu| cpu.method));
    (of(&view.outcome.last.local.cpu), of(&view.outcome.last.remote.cpu))
}

/// Only one figure: the service demand, if it was measured.
fn single(view: &View<'_>, measured: bool, transport: Transport) -> String {
    let (s, means, udp) = (&view.config.settings, &view.outcome.means, transport == Transport::Udp);
    if measured {
        let (local, remote) = methods(view);
        let (demand, method) = if s.local.cpu { (means.local_demand, local) } else { (means.remote_demand, remote) };
        let streams = udp && !s.test.is_transactions();
        return match (streams, s.test.connects) {
            (true, _) => format!("{demand:6.2} {method}\n"),
            (false, true) => format!("{demand:6.3}\n"),
            (false, false) => format!("{demand:6.3} {method} {}\n", brand(view)),
        };
    }
    if udp && !s.test.is_transactions() {
        let last = &view.outcome.last;
        return format!("{:7.2}\n", scaled(last.per_second(last.local.sent), s.unit()));
    }
    let result = scaled(means.result, s.unit());
    if s.test.connects { format!("{result:7.2}\n") } else { format!("{result:7.2} {}\n", brand(view)) }
}

fn stream(view: &View<'_>, measured: bool) -> String {
    let (s, last, means) = (&view.config.settings, &view.outcome.last, &view.outcome.means);
    let unit = name(s.unit());
    let (receiver, sender, ends) = if s.test.sends {
        (&last.remote, &last.local, ("Send     Recv     Send    Recv"))
    } else {
        (&last.local, &last.remote, ("Recv     Send     Recv    Send"))
    };
    let (socket, from, size) = (receiver.receive_buffer.0, sender.send_buffer.0, sender.send_size);
    let (seconds, result, brand) = (means.seconds, scaled(means.result, s.unit()), brand(view));
    let mut text = String::new();
    if measured {
        let (local, remote) = methods(view);
        if view.config.headers {
            let _ = write!(
                text,
                "Recv   Send    Send                          Utilization       Service Demand\n\
                 Socket Socket  Message  Elapsed              {ends}\n\
                 Size   Size    Size     Time     Throughput  local    remote   local   remote\n\
                 bytes  bytes   bytes    secs.    {unit:<8.8}/s  % {local}      % {remote}      us/KB   us/KB\n\n"
            );
        }
        let _ = writeln!(
            text,
            "{socket:6} {from:6} {size:6}    {seconds:<6.2}     {result:7.2}   {:<6.2}   {:<6.2}   {:<6.3}  {:<6.3} {brand}",
            means.local_cpu, means.remote_cpu, means.local_demand, means.remote_demand
        );
        return text;
    }
    if view.config.headers {
        let _ = write!(
            text,
            "Recv   Send    Send                          \n\
             Socket Socket  Message  Elapsed              \n\
             Size   Size    Size     Time     Throughput  \n\
             bytes  bytes   bytes    secs.    {unit}/sec  \n\n"
        );
    }
    let _ = writeln!(text, "{socket:6} {from:6} {size:6}    {seconds:<6.2}   {result:7.2}   {brand}");
    text
}

fn datagrams(view: &View<'_>, measured: bool) -> String {
    let (s, last, means) = (&view.config.settings, &view.outcome.last, &view.outcome.means);
    let unit = name(s.unit());
    let (local, remote) = (&last.local, &last.remote);
    let rate = |bytes| scaled(last.per_second(bytes), s.unit());
    let (out, arrived, seconds) = (rate(local.sent), rate(remote.received), last.seconds);
    let (from, size, sends, failed) = (local.send_buffer.0, local.send_size, local.sends, local.failed);
    let (socket, receives) = (remote.receive_buffer.0, remote.receives);
    let mut text = String::new();
    if measured {
        let (of_local, of_remote) = methods(view);
        if view.config.headers {
            let _ = write!(
                text,
                "Socket  Message  Elapsed      Messages                   CPU      Service\n\
                 Size    Size     Time         Okay Errors   Throughput   Util     Demand\n\
                 bytes   bytes    secs            #      #   {unit}/sec % {of_local}{of_remote}     us/KB\n\n"
            );
        }
        let _ = write!(
            text,
            "{from:6}  {size:6}   {seconds:<7.2}   {sends:7} {failed:6}    {out:7.1}     {:<6.2}   {:<6.3}\n\
             {socket:6}           {seconds:<7.2}   {receives:7}           {arrived:7.1}     {:<6.2}   {:<6.3}\n\n",
            means.local_cpu, means.local_demand, means.remote_cpu, means.remote_demand
        );
        return text;
    }
    if view.config.headers {
        let _ = write!(
            text,
            "Socket  Message  Elapsed      Messages                \n\
             Size    Size     Time         Okay Errors   Throughput\n\
             bytes   bytes    secs            #      #   {unit}/sec\n\n"
        );
    }
    let _ = write!(
        text,
        "{from:6}  {size:6}   {seconds:<7.2}   {sends:7} {failed:6}    {out:7.2}\n\
         {socket:6}           {seconds:<7.2}   {receives:7}           {arrived:7.2}\n\n"
    );
    text
}

fn transactions(view: &View<'_>, measured: bool) -> String {
    let (s, last, means) = (&view.config.settings, &view.outcome.last, &view.outcome.means);
    let (unit, connects, udp) = (s.unit(), s.test.connects, s.test.transport == Transport::Udp);
    let (local, remote) = (&last.local, &last.remote);
    let (send, receive) = (local.send_buffer.0, local.receive_buffer.0);
    let (request, response) = (s.request, s.response);
    let (seconds, result, brand) = (means.seconds, scaled(means.result, unit), brand(view));
    let mut text = String::new();
    if measured {
        let (of_local, of_remote) = methods(view);
        if view.config.headers {
            let per = if unit == 'x' { "us/Tr" } else { "us/KB" };
            text += "Local /Remote\n";
            if unit == 'x' {
                text += "Socket Size   Request Resp.  Elapsed Trans.   CPU    CPU    S.dem   S.dem\n\
                         Send   Recv   Size    Size   Time    Rate     local  remote local   remote\n";
            } else {
                let _ = write!(
                    text,
                    "Socket Size   Request Resp.  Elapsed Tput     CPU    CPU    S.dem   S.dem\n\
                     Send   Recv   Size    Size   Time    {:<8.8} local  remote local   remote\n",
                    name(unit)
                );
            }
            let (of_local, of_remote) = if connects { (' ', ' ') } else { (of_local, of_remote) };
            let _ = write!(
                text,
                "bytes  bytes  bytes   bytes  secs.   per sec  % {of_local}    % {of_remote}    {per}   {per}\n\n"
            );
        }
        let gap = if udp || connects { "   " } else { "  " };
        let _ = write!(
            text,
            "{send:<6} {receive:<6} {request:<6}  {response:<6} {seconds:<6.2}  {result:<6.2}{gap}\
             {:<6.2} {:<6.2} {:<6.3}  {:<6.3}",
            means.local_cpu, means.remote_cpu, means.local_demand, means.remote_demand
        );
        text += &if connects { "\n".to_owned() } else { format!(" {brand}\n") };
    } else {
        if view.config.headers {
            text += "Local /Remote\n";
            if unit == 'x' {
                text += "Socket Size   Request  Resp.   Elapsed  Trans.\n\
                         Send   Recv   Size     Size    Time     Rate         \n\
                         bytes  Bytes  bytes    bytes   secs.    per sec   \n\n";
            } else {
                let _ = write!(
                    text,
                    "Socket Size   Request  Resp.   Elapsed  \n\
                     Send   Recv   Size     Size    Time     Throughput \n\
                     bytes  Bytes  bytes    bytes   secs.    {}/sec   \n\n",
                    name(unit)
                );
            }
        }
        let _ = writeln!(
            text,
            "{send:<6} {receive:<6} {request:<6}   {response:<6}  {seconds:<6.2}   {result:7.2}   {brand}"
        );
    }
    let _ = writeln!(text, "{:<6} {:<6}", remote.send_buffer.0, remote.receive_buffer.0);
    text
}

/// All that is known, behind the line.
fn more(view: &View<'_>) -> String {
    let (s, last) = (&view.config.settings, &view.outcome.last);
    let (local, remote) = (&last.local, &last.remote);
    let each = |bytes: u64, calls: u64| if calls > 0 { bytes as f64 / calls as f64 } else { 0.0 };
    if s.test.connects {
        return format!(
            "\nAlignment      Offset\nLocal  Remote  Local  Remote\nSend   Recv    Send   Recv\n{:5}  {:5}   {:5}  {:5}\n",
            s.local.send.align, s.remote.receive.align, s.local.send.offset, s.remote.receive.offset
        );
    }
    if s.test.is_transactions() {
        if s.test.transport == Transport::Udp {
            return String::new();
        }
        let unit = if s.unit() == 'x' { 'm' } else { s.unit() };
        let rate = last.transactions_per_second();
        let bytes = |size: u32| scaled(rate * f64::from(size), unit);
        let latency = if rate > 0.0 { 1e6 / rate } else { 0.0 };
        return format!(
            "Alignment      Offset         RoundTrip  Trans    Throughput\n\
             Local  Remote  Local  Remote  Latency    Rate     {:<8.8}/s\n\
             Send   Recv    Send   Recv    usec/Tran  per sec  Outbound   Inbound\n\
             {:5}  {:5}   {:5}  {:5}   {latency:<6.3}   {rate:<6.3} {:<6.3}    {:<6.3}\n",
            name(unit),
            s.local.send.align,
            s.remote.receive.align,
            s.local.send.offset,
            s.remote.receive.offset,
            bytes(s.request),
            bytes(s.response)
        );
    }
    if s.test.transport == Transport::Udp {
        return String::new();
    }
    let (ours, theirs) = if s.test.sends { ("Send", "Recv") } else { ("Recv", "Send") };
    let (own, other) = if s.test.sends { (s.local.send, s.remote.receive) } else { (s.local.receive, s.remote.send) };
    let (bytes, own_calls, other_bytes, other_calls) = if s.test.sends {
        (local.sent, local.sends, remote.received, remote.receives)
    } else {
        (local.received, local.receives, remote.sent, remote.sends)
    };
    format!(
        "\nAlignment      Offset         Bytes    Bytes       {ours}s   Bytes    {theirs}s\n\
         Local  Remote  Local  Remote  Xfered   Per                 Per\n\
         {ours}   {theirs}    {ours}   {theirs}             {ours} (avg)          {theirs} (avg)\n\
         {:5}   {:5}  {:5}   {:5} {bytes:6}  {:6.2}    {own_calls:6}   {:6.2} {other_calls:6}\n\
         \nMaximum\nSegment\nSize (bytes)\n{:6}\n",
        own.align,
        other.align,
        own.offset,
        other.offset,
        each(bytes, own_calls),
        each(other_bytes, other_calls),
        last.mss.map_or(-1, i64::from)
    )
}
