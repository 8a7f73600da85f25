import { FABRIC_LIMITS } from '../limits.js';
import { parseAddress } from '../transport/address.js';
import type { ConnectOptions } from '../transport/options.js';
import {
  BOOLEAN,
  checkFields,
  FUNCTION,
  integerFrom,
  invalid,
  NAME,
  numberWithin,
  OBJECT,
  type Rules,
  TEXT,
  unfit,
} from './field-rules.js';
import type { ClientOptions, Reconnect } from './types.js';

const MOST_MS = FABRIC_LIMITS.clientMostMs;
const URL = { expected: 'an address such as stomp://HOST:PORT, or a list of them' };
const HEADER = { expected: 'a text without line ends and NULs' };
const PASSCODE = { expected: 'a text, or a function that makes one' };

const CLIENT: Rules<ClientOptions> = {
  url: { fits: isTextOrList, ...URL },
  login: { fits: isHeader, ...HEADER },
  passcode: { fits: (value) => isHeader(value) || FUNCTION.fits(value), ...PASSCODE },
  host: { fits: isHeader, ...HEADER },
  heartBeatMs: { fits: isHeartBeat, expected: `a whole number from 0 to ${MOST_MS} (milliseconds)` },
  retries: {
    fits: (value) => integerFrom(0).fits(value) || value === Number.POSITIVE_INFINITY,
    expected: 'a whole number from 0 on, or Infinity',
  },
  reconnect: { fits: (value) => value === false || OBJECT.fits(value), expected: 'false or an object' },
  onStatus: FUNCTION,
  onUnpublished: FUNCTION,
  timeoutMs: numberWithin(1, MOST_MS, ' (milliseconds)'),
  tls: OBJECT,
  clock: OBJECT,
  random: FUNCTION,
  dial: FUNCTION,
};

const RECONNECT: Rules<Reconnect> = {
  minMs: numberWithin(0, MOST_MS, ' (milliseconds)'),
  maxMs: numberWithin(0, MOST_MS, ' (milliseconds)'),
  jitter: numberWithin(0, 1),
};

const TLS: Rules<NonNullable<ConnectOptions['tls']>> = { ca: TEXT, serverName: NAME, verify: BOOLEAN };

/** All of what `connect` takes, before anything is tried. @throws MusterError `invalid_field`: which option, and why */
export function checkOptions(options: ClientOptions): void {
  checkFields<ClientOptions>('options', options, CLIENT);
  const { url, login, passcode, reconnect, tls } = options;
  if (url === undefined) throw unfit('url', URL, url);
  const urls = typeof url === 'string' ? [url] : url;
  if (urls.length === 0) throw invalid('url', 'there is none');
  const remote = urls.map((each) => parseAddress(each)).some(({ scheme }) => scheme !== 'stomp+unix');
  if (remote && (login === undefined || login === '')) throw unfit('login', { expected: 'ORG/NAME' }, login);
  if (remote && passcode === undefined) throw unfit('passcode', PASSCODE, passcode);
  if (reconnect !== undefined && reconnect !== false) checkFields('reconnect', reconnect, RECONNECT, 'reconnect.');
  if (tls !== undefined) checkFields('tls', tls, TLS, 'tls.');
}

/** What a function has made. @throws MusterError `invalid_field` */
export function checkPasscode(made: unknown): asserts made is string {
  if (!isHeader(made)) throw unfit('passcode', { expected: `${HEADER.expected} from the function` }, made);
}

function isTextOrList(value: unknown): boolean {
  return typeof value === 'string' || (Array.isArray(value) && value.every((each) => typeof each === 'string'));
}

/** CONNECT is not escaped. */
function isHeader(value: unknown): boolean {
  return typeof value === 'string' && !/[\n\r\0]/.test(value);
}

function isHeartBeat(value: unknown): boolean {
  return integerFrom(0).fits(value) && numberWithin(0, MOST_MS).fits(value);
}
