import { bodyOf, linesOf, timeOf, unescapeHeader } from '@muster/fabric';
import type { Write } from '@muster/store';
import type { StoredEvent } from '../log/stored-event.js';
import { addDelivery } from '../outbound/deliveries.js';
import { deliverySubject } from './directory.js';
import type { Notification } from './types.js';

const CONTENT_TYPE = 'content-type';

/** What somebody is told of an event, as Standard Webhooks have it. */
export function bodyFor({ org }: Pick<Notification, 'org'>, type: string, stored: StoredEvent): string {
  const { position, atMs, event } = stored;
  const attributes: Record<string, string> = {};
  let isJson = false;
  for (const line of new TextDecoder().decode(linesOf(event)).split('\n')) {
    const colon = line.indexOf(':');
    if (colon < 0) continue;
    const [name, value] = [line.slice(0, colon), line.slice(colon + 1)].map((text) => unescapeHeader(text, '1.2'));
    if (name === undefined || value === undefined || name in attributes) continue;
    if (name === CONTENT_TYPE) isJson = value.startsWith('application/json');
    else if (name !== 'type') attributes[name] = value;
  }
  const text = new TextDecoder().decode(bodyOf(event));
  const data = {
    organization: org.name,
    position,
    source: event.origin.source,
    source_kind: event.origin.kind,
    attributes,
    body: (isJson ? parsed(text) : undefined) ?? text,
  };
  return JSON.stringify({ type, timestamp: timeOf(atMs), data });
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** What is stored so that an event is told. */
export function tellEvent(notification: Notification, type: string, event: StoredEvent, now: number): Write {
  // Ids in the order of the events.
  const id = `${notification.id}.${String(event.position).padStart(16, '0')}`;
  return tell(notification, { id, type, body: bodyFor(notification, type, event) }, now);
}

/** Of what its owner tries out. */
export const TEST_TYPE = 'muster.test';

/** The id of a delivery that tries out a notification. */
export function testId({ id }: Pick<Notification, 'id'>, one: string): string {
  return `${id}.test-${one}`;
}

/** @param one Of this one alone. */
export function tellTest(notification: Notification, one: string, now: number): Write {
  const data = { organization: notification.org.name, notification: notification.name };
  const body = JSON.stringify({ type: TEST_TYPE, timestamp: timeOf(now), data });
  return tell(notification, { id: testId(notification, one), type: TEST_TYPE, body }, now);
}

function tell(
  { id: subscription, org, name, target, policy }: Notification,
  { id, type, body }: { readonly id: string; readonly type: string; readonly body: string },
  now: number,
): Write {
  const title = `[${org.name}] ${name}: ${type}`;
  return addDelivery(
    {
      id,
      subscription,
      subject: deliverySubject(subscription),
      orgId: org.id,
      event: type,
      url: target,
      title,
      body,
      policy,
      only: false,
    },
    now,
  );
}
