import type { Clock } from '@muster/base';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import type { Recorder, StoredEvent } from '../log/index.js';
import { type FeedKind, idOf, nameOfEntry, readFeedEntry } from './feed-kind.js';
import { OrganizationFeed } from './organization-feed.js';
import { type FindStanding, SubjectFeed } from './subject-feed.js';

export interface FeedsDeps<Name extends string> {
  readonly kind: FeedKind<Name>;
  readonly standingOf: FindStanding;
  readonly read: Kysely<Schema>;
  readonly recorder: Pick<Recorder, 'onStored'>;
  readonly clock: Clock;
  /** How long the feed of an organization keeps its events. */
  readonly retentionSeconds: number;
}

/** The feeds of one kind of things: of each of them, and of an organization. They show what is in the event log. */
export class Feeds<Name extends string> {
  readonly subject: SubjectFeed<Name>;
  readonly organization: OrganizationFeed<Name>;
  readonly #kind: FeedKind<Name>;
  readonly #stopListening: () => void;

  constructor(deps: FeedsDeps<Name>) {
    const { kind, recorder } = deps;
    this.#kind = kind;
    this.subject = new SubjectFeed(deps);
    this.organization = new OrganizationFeed(deps);
    this.#stopListening = recorder.onStored((events) => {
      for (const event of events) {
        const id = idOf(kind, event.subject);
        if (id !== null) this.#publish(id, event);
      }
    });
  }

  /** Before anything is recorded. */
  load(): Promise<void> {
    return this.organization.load();
  }

  /** Most events have nobody who reads them. */
  #publish(id: string, { orgId, position, atMs: at, recorded: event }: StoredEvent): void {
    const listed = this.#kind.listed.includes(nameOfEntry(this.#kind, event));
    if (!listed && !this.subject.isRead(id)) return;
    const entry = readFeedEntry(this.#kind, { position, at, event });
    this.subject.publish(id, entry);
    if (listed) this.organization.publish(orgId, id, entry);
  }

  /** It ended without the event that ends a feed: its live streams close. */
  ended(id: string): void {
    this.subject.close(id);
  }

  /** The server stops: every stream ends. */
  close(): void {
    this.#stopListening();
    this.subject.closeAll();
    this.organization.closeAll();
  }
}
