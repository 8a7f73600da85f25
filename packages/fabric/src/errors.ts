import { declareErrors } from '@muster/base/errors';

/** The errors of events, relays and STOMP. */
export const FABRIC_ERRORS = declareErrors({
  // starting up
  insecure_stomp: {
    status: 500,
    exit: 2,
    message: 'refusing to speak STOMP on {address} without TLS',
    fix: 'Give --stomp-tls-cert and --stomp-tls-key, or accept plain STOMP with --insecure-stomp.',
  },
  // relays
  upstream_missing: {
    status: 500,
    exit: 2,
    message: 'a relay needs an upstream: it passes events on and cannot be the root of the tree',
    fix: 'Give --upstream stomp://HOST:PORT of a relay or of `muster server`, which is the root.',
  },
  upstream_refused: {
    status: 500,
    exit: 3,
    message: 'upstream {url} does not take this relay: {reason}',
    fix: 'Check --login and the passcode, and that an admin has added them to the group event_relays. A broker that is not Muster needs --anonymous.',
  },
  upstream_failed: {
    status: 503,
    exit: 5,
    message: 'upstream of this relay failed: {reason}',
    fix: 'Connect again in a while, and subscribe again. What was published last may or may not have arrived.',
  },
  relay_stopping: { status: 503, exit: 5, message: 'the relay is stopping', fix: 'Connect again, or to another one.' },
  insecure_relay: {
    status: 500,
    exit: 2,
    message: 'refusing to listen on {address} without TLS',
    fix: 'Give --tls-cert and --tls-key and listen on stomp+tls:// or wss://, or accept plain text with --insecure.',
  },
  fabric_unreachable: {
    status: 503,
    exit: 5,
    message: 'cannot connect to {url}: {reason}',
    fix: 'Check that a server or relay listens there, and whether it expects TLS (stomp+tls://, wss://).',
  },
  fabric_passcode: {
    status: 503,
    exit: 5,
    message: 'no passcode for {url}: {reason}',
    fix: 'The function that is the option `passcode` failed; let it try again by itself where that may help.',
  },
  fabric_socket_unreachable: {
    status: 503,
    exit: 5,
    message: 'cannot connect to {url}: {reason}',
    fix: 'Check the path, that the agent (events.socket) or relay runs whose socket it is, and that you are of the group that may open it (events.group).',
  },
  fabric_not_connected: {
    status: 503,
    exit: 5,
    message: 'not connected: nothing was sent',
    fix: 'Wait until the client is connected (`await client.ready()`), then try again; nothing is kept for later.',
  },
  fabric_lost: {
    status: 503,
    exit: 5,
    message: 'the connection to {url} was lost: {reason}',
    fix: 'Check the network and whether the server or relay runs; clients connect again by themselves.',
  },
  fabric_unconfirmed: {
    status: 503,
    exit: 5,
    message: 'the connection was lost before the receipt ({reason}): it may or may not have been {done}',
    fix: 'It is not sent again by itself. Look whether it arrived before you send it again.',
  },
  fabric_refused: {
    status: 400,
    exit: 1,
    message: 'refused by the server: {reason}',
    fix: 'Correct what it names, then connect again.',
  },
  fabric_slow_subscriber: {
    status: 503,
    exit: 5,
    message: 'more than {limit} bytes of events wait to be read by the program',
    fix: 'Read events faster, narrow the selector, or share the work between several programs.',
  },
  fabric_no_completion: {
    status: 504,
    exit: 5,
    message: 'no completion came within {seconds} s',
    fix: 'The command was published and may still be carried out. Wait longer, or look for events with its token.',
  },
  fabric_insecure_page: {
    status: 400,
    exit: 2,
    message:
      'events can be neither signed nor verified here: browsers allow it only to pages from https:// or localhost',
    fix: 'Serve the page over https://, or leave out `sign` and `verify`.',
  },
  fabric_closed: { status: 500, exit: 1, message: 'the client is closed', fix: 'Make a new one with `connect`.' },
  // STOMP frames
  stomp_not_stomp: {
    status: 400,
    exit: 2,
    message: 'this is not STOMP: expected a command such as CONNECT, got {found}',
    fix: 'Speak STOMP 1.2, 1.1 or 1.0 here (docs/reference/fabric-protocol.md); check that both ends agree on TLS.',
  },
  stomp_unknown_command: {
    status: 400,
    exit: 2,
    message: 'there is no command of STOMP that begins with {found}',
    fix: 'Clients send SEND, SUBSCRIBE, UNSUBSCRIBE, ACK, NACK, BEGIN, COMMIT, ABORT and DISCONNECT, each ended by a NUL. Give a body that has NULs a content-length.',
  },
  stomp_invalid_frame: {
    status: 400,
    exit: 2,
    message: 'invalid {command} frame: it {reason}',
    fix: 'Correct the frame (docs/reference/fabric-protocol.md).',
  },
  stomp_invalid_header: {
    status: 400,
    exit: 2,
    message: 'invalid header line {line} in a {command} frame: it {reason}',
    fix: 'Write headers as NAME:VALUE, one a line, escaped as STOMP 1.2 says.',
  },
  stomp_invalid_escape: {
    status: 400,
    exit: 2,
    message: 'undefined escape {escape} in header text {text}',
    fix: 'STOMP {version} knows \\n, \\c, \\\\ and, from 1.2 on, \\r.',
  },
  stomp_invalid_content_length: {
    status: 400,
    exit: 2,
    message: 'invalid content-length {value} in a {command} frame',
    fix: 'Give the bytes of the body as a decimal number.',
  },
  stomp_too_large: {
    status: 413,
    exit: 2,
    message: 'the {what} of a {command} frame is beyond the limit of {limit}',
    fix: 'Send less in one frame.',
  },
  stomp_not_connected: {
    status: 400,
    exit: 2,
    message: '{command} came before CONNECT',
    fix: 'Send CONNECT (or STOMP) first, and wait for CONNECTED.',
  },
  stomp_connected: {
    status: 400,
    exit: 2,
    message: '{command} came on a connection that is connected already',
    fix: 'Send CONNECT once, as the first frame.',
  },
  stomp_version: {
    status: 400,
    exit: 2,
    message: "no version of STOMP in common: header 'accept-version' is {versions}",
    fix: 'We speak 1.2, 1.1 and 1.0.',
  },
  stomp_opening_timeout: {
    status: 408,
    exit: 5,
    message: 'the connection was not logged in in time',
    fix: 'Send CONNECT at once after connecting. If that was done, logins cannot be checked now: try again later.',
  },
  stomp_server_frame: {
    status: 400,
    exit: 2,
    message: '{command} is for servers to send, not for clients',
    fix: 'Publish with SEND.',
  },
  stomp_missing_header: {
    status: 400,
    exit: 2,
    message: "{command} needs the header '{header}'",
    fix: 'Add it and send again.',
  },
  stomp_header_value: {
    status: 400,
    exit: 2,
    message: "header '{header}' of {command} {reason}",
    fix: 'Correct it and send again (docs/reference/fabric-protocol.md).',
  },
  stomp_destination: {
    status: 404,
    exit: 4,
    message: "{command}: there is no destination '{destination}'",
    fix: 'Events have one destination: /topic/events. Select them by the header selector.',
  },
  stomp_relays_only: {
    status: 403,
    exit: 3,
    message: '{what} is for relays only',
    fix: 'Leave it out, or ask an admin to add this principal to the group event_relays.',
  },
  stomp_subscription_exists: {
    status: 409,
    exit: 2,
    message: "SUBSCRIBE: this connection has a subscription with the id '{id}' already",
    fix: 'Choose another id, or UNSUBSCRIBE first.',
  },
  stomp_subscription_missing: {
    status: 404,
    exit: 4,
    message: "{command}: this connection has no subscription with the id '{id}'",
    fix: 'Give the id of a SUBSCRIBE of this connection.',
  },
  stomp_acknowledgement: {
    status: 404,
    exit: 2,
    message: "{command}: header '{header}' names no message that waits for it",
    fix: "Give the header 'ack' of a MESSAGE (1.2), or its message-id and subscription (1.1), once; ack:auto needs no ACK.",
  },
  stomp_transaction_exists: {
    status: 409,
    exit: 2,
    message: "BEGIN: this connection has a transaction '{name}' already",
    fix: 'Choose another name, or COMMIT or ABORT it first.',
  },
  stomp_transaction_missing: {
    status: 404,
    exit: 4,
    message: "{command}: this connection has no transaction '{name}'",
    fix: 'BEGIN it first.',
  },
  stomp_too_many: {
    status: 429,
    exit: 2,
    message: '{command}: too many {what} (limit {limit})',
    fix: 'End some first, or use another connection.',
  },
  // event fabric
  event_reserved: {
    status: 400,
    exit: 2,
    message: "SEND: the attribute '{name}' is reserved",
    fix: 'Name it otherwise: the server says who published an event, when, and at which position.',
  },
  event_type: {
    status: 400,
    exit: 2,
    message: "SEND: header 'type' must be 1 to 128 of the characters A-Z a-z 0-9 _ . -, not '{type}'",
    fix: 'Name the event by such a type.',
  },
  event_too_large: {
    status: 413,
    exit: 2,
    message: 'event too large: type, attributes and body are {size} bytes, the limit is {limit}',
    fix: 'Send less, or where to find it; or raise events.max_size.',
  },
  event_publish_denied: {
    status: 403,
    exit: 3,
    message: "'{principal}' may not publish events of type '{type}'",
    fix: '{hint}',
  },
  event_subscribe_denied: {
    status: 403,
    exit: 3,
    message: "'{principal}' may not follow events of type {type}",
    fix: "Ask an admin for it: `muster event access grant subscribe '{pattern}' {who}`.",
  },
  event_selector: {
    status: 400,
    exit: 2,
    message: 'invalid selector at character {position}: {reason}',
    fix: '{hint}',
  },
  event_slow_client: {
    status: 503,
    exit: 5,
    message: 'too slow: more than {limit} bytes wait for this client to read them',
    fix: 'Read faster, select less, or subscribe with slow:drop-newest or slow:drop-oldest. What waited is lost.',
  },
  event_revoked: {
    status: 401,
    exit: 3,
    message: "the rights of '{principal}' have changed or ended",
    fix: 'Connect and log in again.',
  },
  event_login_expired: {
    status: 401,
    exit: 3,
    message: "the token of '{principal}' has expired",
    fix: 'Log in with a new one: `muster access-token create`.',
  },
  event_stopping: { status: 503, exit: 5, message: 'the server is stopping', fix: 'Connect again in a little while.' },
  event_durable_taken: {
    status: 409,
    exit: 5,
    message: "the durable subscription '{name}' was taken over by another connection",
    fix: 'Let one connection at a time follow it, or give each a name of its own.',
  },
  event_durable_deleted: {
    status: 410,
    exit: 4,
    message: "the durable subscription '{name}' was deleted",
    fix: 'Subscribe again to begin it anew: it then hears what comes from now on.',
  },
  login_refused: {
    status: 401,
    exit: 3,
    message: 'login refused',
    fix: 'Log in as ORG/NAME with an access token of that user or service, or with a login signed by its key; mind the clock.',
  },
});

type Rows = typeof FABRIC_ERRORS;

declare module '@muster/base/errors' {
  interface ErrorTable extends Rows {}
}

/** Taken from here, it knows the errors above. */
export { MusterError } from '@muster/base/errors';
