import { signal } from '@preact/signals';
import { Api, onSignedOut, send } from '../api/client.js';
import { ApiError, apiError } from '../api/errors.js';
import type { OfferedSignIns, Session, SignInBegun } from '../api/types.gen.js';
import type { SessionPreview } from '../api/types.js';
import { Live } from '../live/connection.js';
import { place } from '../navigation.js';
import { Store } from '../store.js';
import { oneAtATime } from './one-at-a-time.js';
import { type May, may } from './permissions.js';
import { whilePresent } from './presence.js';

/** Somebody who is signed in. Secrets are nowhere in the page: the cookie is out of reach for scripts. */
export interface SignedIn {
  readonly session: Session;
  readonly api: Api;
  readonly live: Live;
  readonly store: Store;
}

export type SignIn =
  | { readonly state: 'asking' }
  /** `done`: it is what was asked for. */
  | { readonly state: 'out'; readonly why: string | null; readonly done?: boolean }
  /** The server cannot be asked. */
  | { readonly state: 'unknown'; readonly error: ApiError }
  | { readonly state: 'in'; readonly signedIn: SignedIn };

/** Characters of the place to which a provider leads back, as the server takes it. */
const MOST_RETURN = 1024;
/** A ticket that is not there by then is asked for anew. */
const TICKET_MS = 10_000;

export const signIn = signal<SignIn>({ state: 'asking' });
let absent: () => void = () => {};

/** Who is signed in by the cookie of this browser, if anybody. */
export async function resume(): Promise<void> {
  try {
    enter((await send<Session>('GET', '/session')).body);
  } catch (thrown) {
    const error = apiError(thrown);
    const out = error.status === 401 || error.status === 403 || error.status === 404;
    signIn.value = out ? { state: 'out', why: null } : { state: 'unknown', error };
  }
}

/** What a link would do. @throws ApiError */
export async function previewLink(link: string): Promise<SessionPreview> {
  return (await send<SessionPreview>('POST', '/session/preview', { body: { link } })).body;
}

/** With what somebody signs in. */
export type Beginning =
  | { readonly link: string }
  | { readonly token: string }
  /** At a directory of the organization: of the issuer, or of the only one. */
  | { readonly organization: string; readonly user: string; readonly password: string; readonly issuer?: string };

/** Signs in by a link, by an access token, or by name and password. @throws ApiError */
export async function begin(by: Beginning): Promise<void> {
  enter((await send<Session>('POST', '/session', { body: by })).body);
}

/** Where people sign in to an organization. @throws ApiError */
export async function offeredBy(organization: string): Promise<OfferedSignIns> {
  return (await send<OfferedSignIns>('GET', loginOf(organization))).body;
}

/** Leaves for an OpenID provider, which leads back to where the tab is now. @throws ApiError */
export async function leaveFor(organization: string, issuer: string): Promise<void> {
  const here = location.pathname + location.search;
  const fits = place.value.org === organization && here.length <= MOST_RETURN;
  const path = `${loginOf(organization)}/${encodeURIComponent(issuer)}`;
  const { url } = (await send<SignInBegun>('POST', path, { body: fits ? { return_to: here } : {} })).body;
  if (!/^https?:$/.test(new URL(url).protocol)) throw new ApiError(0, 'internal', 'the provider has no page');
  location.assign(url);
}

function loginOf(organization: string): string {
  return `/organizations/${encodeURIComponent(organization)}/login`;
}

export async function signOut(): Promise<void> {
  try {
    await send('DELETE', '/session');
    leave('You have signed out.', true);
  } catch (thrown) {
    const { message, status } = apiError(thrown);
    if (status === 401) return leave('Your session has ended.');
    leave(`You may still be signed in: ${message}. Reload the page and sign out again, or run: muster session list`);
  }
}

function enter(session: Session): void {
  const api = new Api(session.organization);
  const scheme = location.protocol === 'https:' ? 'wss:' : 'ws:';
  const live = new Live(
    `${scheme}//${location.host}/stomp`,
    `${session.organization}/${session.user}`,
    oneAtATime(newTicket),
  );
  signIn.value = { state: 'in', signedIn: { session, api, live, store: new Store(api, live) } };
  // What is refused then, the next request tells.
  absent = whilePresent(window, () => void send('GET', '/session').catch(() => {}));
}

/** With which the page logs in once. @throws ApiError */
async function newTicket(): Promise<string> {
  const signal = AbortSignal.timeout(TICKET_MS);
  const { body } = await send<{ readonly ticket: string }>('POST', '/session/ticket', { body: {}, signal }).catch(
    (error: unknown) => {
      if (error instanceof ApiError && error.status === 401) leave('Your session has ended.');
      throw error;
    },
  );
  return body.ticket;
}

function leave(why: string, done = false): void {
  const { value } = signIn;
  if (value.state !== 'in') return;
  absent();
  value.signedIn.store.stop();
  value.signedIn.live.close();
  signIn.value = { state: 'out', why, done };
}

onSignedOut(() => leave('Your session has ended.'));

/** @throws Error when nobody is signed in */
export function signedIn(): SignedIn {
  if (signIn.value.state !== 'in') throw new Error('nobody is signed in');
  return signIn.value.signedIn;
}

export function mayI(permission: string): May {
  return may(signedIn().session, permission);
}
