/** What a client may do wrong. */
export interface WrongFrame {
  readonly wrong: string;
  /** What is sent, in Latin-1. */
  readonly text: string;
  /** Of the ERROR. */
  readonly code: string;
  /** What its message must say. */
  readonly names: string;
  /** Sent by one who may do less than others. */
  readonly guest?: true;
}

const EVENT = 'destination:/topic/events\ntype:a\n';
const SUBSCRIBE = 'SUBSCRIBE\nid:9\ndestination:/topic/events\n';

/** Types that the guest may neither publish nor follow. */
export const SECRET = 'secret.door';

export const WRONG_FRAMES: readonly WrongFrame[] = [
  // malformed frames
  { wrong: 'no STOMP', text: '\x16\x03\x01\x02', code: 'stomp_unknown_command', names: '\\u0016' },
  { wrong: 'a command that does not exist', text: 'SHOUT\n\n\0', code: 'stomp_unknown_command', names: 'SHOUT' },
  { wrong: 'a header without colon', text: 'SEND\nhere\n\n\0', code: 'stomp_invalid_header', names: 'here' },
  { wrong: 'an undefined escape', text: 'SEND\nx:\\t\n\n\0', code: 'stomp_invalid_escape', names: '\\\\t' },
  { wrong: 'text that is not UTF-8', text: 'SEND\nx:\xff\n\n\0', code: 'stomp_invalid_frame', names: 'UTF-8' },
  ...['-1', '', '1e3', '0x10', '12 bytes'].map((length) => ({
    wrong: `a content-length of '${length}'`,
    text: `SEND\n${EVENT}content-length:${length}\n\nbody\0`,
    code: 'stomp_invalid_content_length',
    names: length,
  })),
  { wrong: 'a body without its NUL', text: 'SEND\ncontent-length:1\n\nab', code: 'stomp_invalid_frame', names: 'NUL' },
  { wrong: 'a second CONNECT', text: 'CONNECT\n\n\0', code: 'stomp_connected', names: 'CONNECT' },
  { wrong: 'a frame for servers to send', text: 'MESSAGE\n\n\0', code: 'stomp_server_frame', names: 'MESSAGE' },
  { wrong: 'a missing header', text: 'SUBSCRIBE\nid:9\n\n\0', code: 'stomp_missing_header', names: "'destination'" },
  {
    wrong: 'a missing type',
    text: 'SEND\ndestination:/topic/events\n\n\0',
    code: 'stomp_missing_header',
    names: 'type',
  },
  // too large
  { wrong: 'too long a header', text: `SEND\nx:${'y'.repeat(20_000)}`, code: 'stomp_too_large', names: '16384' },
  { wrong: 'too many headers', text: `SEND\n${'a:b\n'.repeat(200)}\n\0`, code: 'stomp_too_large', names: '128' },
  { wrong: 'too long a name', text: `SEND\n${'n'.repeat(300)}:b\n\n\0`, code: 'stomp_invalid_header', names: '256' },
  { wrong: 'too large a body', text: `SEND\n${EVENT}\n${'x'.repeat(5000)}`, code: 'stomp_too_large', names: '4096' },
  {
    wrong: 'too large a body, announced',
    text: `SEND\n${EVENT}content-length:999999999\n\n`,
    code: 'stomp_too_large',
    names: '4096',
  },
  {
    wrong: 'an event one byte beyond the limit',
    text: `SEND\n${EVENT}\n${'x'.repeat(4096 - 'type:a\n'.length + 1)}\0`,
    code: 'event_too_large',
    names: '4097',
  },
  // selectors
  { wrong: 'half a selector', text: `${SUBSCRIBE}selector:a = \n\n\0`, code: 'event_selector', names: 'character' },
  {
    wrong: 'an unescaped quote in a selector',
    text: `${SUBSCRIBE}selector:a = 'it's'\n\n\0`,
    code: 'event_selector',
    names: 'character 8',
  },
  {
    wrong: 'a selector one byte beyond the limit',
    text: `${SUBSCRIBE}selector:a = '${'x'.repeat(4073 - 6)}'\n\n\0`,
    code: 'event_selector',
    names: '4072',
  },
  {
    wrong: 'too deep a selector',
    text: `${SUBSCRIBE}selector:${'('.repeat(1000)}a = 1${')'.repeat(1000)}\n\n\0`,
    code: 'event_selector',
    names: 'deep',
  },
  // destinations
  {
    wrong: 'SEND to elsewhere',
    text: 'SEND\ndestination:/queue/x\n\n\0',
    code: 'stomp_destination',
    names: '/queue/x',
  },
  {
    wrong: 'SUBSCRIBE to elsewhere',
    text: 'SUBSCRIBE\nid:9\ndestination:/topic/x\n\n\0',
    code: 'stomp_destination',
    names: '/topic/x',
  },
  {
    wrong: 'what only relays may send',
    text: 'SEND\ndestination:/muster/login\nrequest:1\n\n{}\0',
    code: 'stomp_relays_only',
    names: '/muster/login',
  },
  {
    wrong: 'SEND of what is not granted',
    text: `SEND\ndestination:/topic/events\ntype:${SECRET}\n\n\0`,
    code: 'event_publish_denied',
    names: SECRET,
    guest: true,
  },
  {
    wrong: 'SUBSCRIBE to what is not granted',
    text: `${SUBSCRIBE}selector:type = '${SECRET}'\n\n\0`,
    code: 'event_subscribe_denied',
    names: SECRET,
    guest: true,
  },
  // what was never begun
  {
    wrong: 'UNSUBSCRIBE of nothing',
    text: 'UNSUBSCRIBE\nid:9\n\n\0',
    code: 'stomp_subscription_missing',
    names: "'9'",
  },
  { wrong: 'ACK of nothing', text: 'ACK\nid:9\n\n\0', code: 'stomp_acknowledgement', names: "'id'" },
  { wrong: 'COMMIT of nothing', text: 'COMMIT\ntransaction:t\n\n\0', code: 'stomp_transaction_missing', names: "'t'" },
];

/** Before the login. */
export const WRONG_OPENINGS: readonly WrongFrame[] = [
  { wrong: 'a request of HTTP', text: 'GET / HTTP/1.1\r\n\r\n', code: 'stomp_not_stomp', names: 'GET' },
  { wrong: 'a frame before CONNECT', text: `SEND\n${EVENT}\n\0`, code: 'stomp_not_connected', names: 'SEND' },
  {
    wrong: 'no version in common',
    text: 'CONNECT\naccept-version:2.0\nlogin:default/admin\npasscode:x\n\n\0',
    code: 'stomp_version',
    names: '2.0',
  },
  { wrong: 'no login', text: 'CONNECT\npasscode:x\n\n\0', code: 'stomp_missing_header', names: "'login'" },
  {
    wrong: 'no passcode',
    text: 'CONNECT\nlogin:default/admin\n\n\0',
    code: 'stomp_missing_header',
    names: "'passcode'",
  },
  {
    wrong: 'the wrong passcode',
    text: 'CONNECT\nlogin:default/admin\npasscode:x\n\n\0',
    code: 'login_refused',
    names: 'login refused',
  },
  {
    wrong: 'heart-beats that are no numbers',
    text: 'CONNECT\nlogin:default/admin\npasscode:x\nheart-beat:often\n\n\0',
    code: 'stomp_header_value',
    names: "'heart-beat'",
  },
  {
    wrong: 'more than is kept of strangers',
    text: `CONNECT\nx:${'y'.repeat(9000)}`,
    code: 'stomp_too_large',
    names: '8192',
  },
];
