/**
 * As much of STOMP 1.2 and of the NATS protocol as a load generator needs: what it sends is encoded once, and what it
 * receives is not parsed but stepped over. A body is a number of SEQ digits, the time in TIME digits, and filling.
 */
export const SEQ = 8;
export const TIME = 14;
const ZERO = 48;
const M = 77;
const LF = 10;

/** Decimal digits with leading zeros. */
export function putNumber(bytes, at, digits, number) {
  let rest = number;
  for (let place = at + digits - 1; place >= at; place -= 1) {
    bytes[place] = ZERO + (rest % 10);
    rest = Math.floor(rest / 10);
  }
}

export function readNumber(bytes, at, digits) {
  let number = 0;
  for (let place = at; place < at + digits; place += 1) number = number * 10 + bytes[place] - ZERO;
  return number;
}

/** As far as there are digits. */
function readDigits(bytes, at) {
  let number = 0;
  for (let place = at; bytes[place] >= ZERO; place += 1) number = number * 10 + bytes[place] - ZERO;
  return number;
}

function filling(size) {
  if (size < SEQ + TIME) throw new Error(`an event needs at least ${SEQ + TIME} bytes for its body`);
  return '0'.repeat(SEQ + TIME) + 'x'.repeat(size - SEQ - TIME);
}

export const stomp = {
  hello: ({ login, passcode, heartBeatMs = 0 }) =>
    `CONNECT\naccept-version:1.2\nhost:bench\nlogin:${login}\npasscode:${passcode}\n` +
    `heart-beat:${heartBeatMs},${heartBeatMs}\n\n\0`,
  welcomed: (text) => text.startsWith('CONNECTED'),
  /** All lanes of a client, the last with a receipt. */
  subscribe: (selectors) =>
    selectors
      .map((selector, id) => {
        const receipt = id === selectors.length - 1 ? 'receipt:subscribed\n' : '';
        return `SUBSCRIBE\nid:${id}\ndestination:/topic/events\n${selector === '' ? '' : `selector:${selector}\n`}${receipt}\n\0`;
      })
      .join(''),
  subscribed: (text) => text.startsWith('RECEIPT\nreceipt-id:subscribed\n'),
  /** @param size of type, attributes and body together. */
  event(attributes, size) {
    const lines = Object.entries(attributes)
      .map(([name, value]) => `${name}:${value}\n`)
      .join('');
    const bodySize = size - lines.length;
    const head = `SEND\ndestination:/topic/events\n${lines}content-length:${bodySize}\n\n`;
    return { bytes: Buffer.from(`${head}${filling(bodySize)}\0`, 'latin1'), bodyAt: head.length, bodySize };
  },
  /** Bytes after the body of a MESSAGE. */
  trailer: 1,
  isEvent: (bytes, at) => bytes[at] === M,
  skip: (bytes, at) => bytes[at] === LF,
  /** Where the frame ends that begins there, or -1; `guess`: the size of the one before. No body holds a NUL. */
  endOf(bytes, at, guess) {
    const guessed = at + guess;
    if (guess > 0 && guessed <= bytes.length && bytes[guessed - 1] === 0) return guessed;
    return bytes.indexOf(0, at) + 1 || -1;
  },
  /** Ids of subscriptions are numbers. */
  laneOf: (bytes, at) => readDigits(bytes, at + 'MESSAGE\nsubscription:'.length),
  failed: (text) => text.startsWith('ERROR'),
  answer: () => null,
};

export const nats = {
  hello: () => 'CONNECT {"verbose":false}\r\nPING\r\n',
  welcomed: (text) => text.startsWith('PONG'),
  /** Its subscriptions are for the subject alone. */
  subscribe: (selectors) => `${selectors.map((_, id) => `SUB bench.x ${id}\r\n`).join('')}PING\r\n`,
  subscribed: (text) => text.startsWith('PONG'),
  /** The subject counts, as the type does. */
  event(_attributes, size) {
    const bodySize = size - 'bench.x'.length;
    const head = `PUB bench.x ${bodySize}\r\n`;
    return { bytes: Buffer.from(`${head}${filling(bodySize)}\r\n`, 'latin1'), bodyAt: head.length, bodySize };
  },
  trailer: 2,
  isEvent: (bytes, at) => bytes[at] === M,
  skip: () => false,
  endOf(bytes, at, guess) {
    if (bytes[at] !== M) return bytes.indexOf(LF, at) + 1 || -1;
    if (guess > 0) return at + guess <= bytes.length ? at + guess : -1;
    const line = bytes.indexOf(LF, at) + 1;
    if (line === 0) return -1;
    const end = line + Number(bytes.latin1Slice(at, line).trim().split(' ').pop()) + 2;
    return end <= bytes.length ? end : -1;
  },
  laneOf: (bytes, at) => readDigits(bytes, at + 'MSG bench.x '.length),
  failed: (text) => text.startsWith('-ERR'),
  answer: (text) => (text.startsWith('PING') ? 'PONG\r\n' : null),
};

export const protocols = { stomp, nats };
