//! States, by which the two ends lead each other through a test.

/// A state, as it is sent on the control connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The server has all streams; both ends begin to count.
    TestStart,
    /// Data may flow.
    TestRunning,
    TestEnd,
    /// The server wants the parameters.
    ParamExchange,
    /// The server waits for the streams.
    CreateStreams,
    /// The server was told to end.
    ServerTerminate,
    /// The client was told to end.
    ClientTerminate,
    /// The server wants the results.
    ExchangeResults,
    /// Both have the results of both.
    DisplayResults,
    /// The client is done.
    Done,
    /// The server takes nobody in at present.
    AccessDenied,
    /// The server refuses: two numbers follow, iperf3's error and the system's.
    ServerError,
}

const BYTES: [(State, i8); 12] = [
    (State::TestStart, 1),
    (State::TestRunning, 2),
    (State::TestEnd, 4),
    (State::ParamExchange, 9),
    (State::CreateStreams, 10),
    (State::ServerTerminate, 11),
    (State::ClientTerminate, 12),
    (State::ExchangeResults, 13),
    (State::DisplayResults, 14),
    (State::Done, 16),
    (State::AccessDenied, -1),
    (State::ServerError, -2),
];

impl State {
    /// State of a byte that was received; `None` for bytes that are none.
    #[must_use]
    pub fn from_byte(byte: u8) -> Option<Self> {
        BYTES.iter().find(|(_, known)| known.to_be_bytes() == [byte]).map(|(state, _)| *state)
    }

    #[must_use]
    pub fn byte(self) -> u8 {
        let [byte] = BYTES.iter().find(|(state, _)| *state == self).map_or(0, |(_, byte)| *byte).to_be_bytes();
        byte
    }
}
