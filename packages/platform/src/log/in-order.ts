import type { Clock, Timer } from '@muster/base';
import type { Schema } from '@muster/store';
import type { Kysely } from 'kysely';
import { readBeyond } from './log-reads.js';
import { type StoredEvent, withinSize } from './stored-event.js';

/** After which a look that failed is tried again. */
const AGAIN_MS = 1000;

export interface InOrderDeps {
  readonly read: Kysely<Schema>;
  readonly clock: Clock;
  readonly maxSize: number;
  /** Null: it was deleted, so nobody hears its events. */
  readonly organizationName: (id: string) => Promise<string | null>;
  /** Events in the order of their positions, without gaps. */
  readonly tell: (events: readonly StoredEvent[]) => void;
  readonly failed: (error: unknown) => void;
}

interface Own {
  readonly first: number;
  readonly events: readonly StoredEvent[];
}

/**
 * Puts what this process records and what others record in the same database into the one order that it has. What stands
 * before an event of this process is stored when that is: it is read if it is of others.
 */
export class InOrder {
  readonly #deps: InOrderDeps;
  #last = 0;
  /** Of this process, told when what is before them was. */
  #held: Own[] = [];
  #follows = false;
  #looking = false;
  #again = false;
  #retry: Timer | undefined;
  #stopped = false;

  constructor(deps: InOrderDeps) {
    this.#deps = deps;
  }

  /** Position of the newest event that was told. */
  get last(): number {
    return this.#last;
  }

  begin(last: number): void {
    this.#last = last;
  }

  /** From now on also the events of others are told: those of this process wait for what stands before them. */
  follow(): void {
    this.#follows = true;
  }

  /** Events of this process, as they are stored. */
  own(first: number, events: readonly StoredEvent[]): void {
    const next = !this.#looking && first === this.#last + 1;
    if (next || !this.#follows) return this.#tell(events, throughOf({ first, events }));
    // Read as soon as it was stored, before this was heard of.
    if (first <= this.#last) return;
    this.#held.push({ first, events });
    this.look();
  }

  /** Others may have recorded something. */
  look(): void {
    this.#again = true;
    if (this.#looking || this.#stopped || this.#retry !== undefined) return;
    this.#looking = true;
    void this.#look()
      .catch((error: unknown) => {
        this.#deps.failed(error);
        this.#retry = this.#deps.clock.after(AGAIN_MS, () => {
          this.#retry = undefined;
          this.look();
        });
      })
      .finally(() => {
        this.#looking = false;
        if (this.#again) this.look();
      });
  }

  stop(): void {
    this.#stopped = true;
    this.#retry?.cancel();
  }

  async #look(): Promise<void> {
    const { read, organizationName, maxSize } = this.#deps;
    const names = new Map<string, string | null>();
    const nameOf = async (id: string): Promise<string | null> => {
      let name = names.get(id);
      if (name === undefined) {
        name = await organizationName(id);
        names.set(id, name);
      }
      return name;
    };
    while (this.#again && !this.#stopped) {
      this.#again = false;
      for (;;) {
        const before = this.#held.length;
        const page = await readBeyond(read, this.#last, nameOf);
        if (page.through === this.#last) {
          // They were stored before it was read: they, and what stood before them, were deleted since.
          for (const own of this.#held.splice(0, before)) {
            if (own.first > this.#last) this.#tell(own.events, throughOf(own));
          }
          break;
        }
        this.#held = this.#held.filter(({ first }) => first > page.through);
        this.#tell(
          page.events.map(({ position, at, orgId, subject, event: recorded }) => {
            return { position, atMs: at, orgId, subject, recorded, event: withinSize(recorded, maxSize) };
          }),
          page.through,
        );
      }
      // Stored since it was looked for.
      for (let own = this.#held[0]; own?.first === this.#last + 1; own = this.#held[0]) {
        this.#held.shift();
        this.#tell(own.events, throughOf(own));
      }
      if (this.#held.length > 0) this.#again = true;
    }
  }

  #tell(events: readonly StoredEvent[], through: number): void {
    this.#last = through;
    this.#deps.tell(events);
  }
}

const throughOf = ({ first, events }: Own): number => first + events.length - 1;
