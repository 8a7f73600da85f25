import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** One registry per server process; each layer registers its own series when it is built. */
export class Metrics {
  readonly registry = new Registry();

  /** Event-loop lag, heap, descriptors: once per process. */
  collectProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  counter<Label extends string>(name: string, help: string, labelNames: readonly Label[] = []): Counter<Label> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  /** A counter that somebody else keeps; `read` is called when the series are read. */
  counted(name: string, help: string, read: () => number): Counter {
    return new Counter({
      name,
      help,
      registers: [this.registry],
      collect(): void {
        this.reset();
        this.inc(read());
      },
    });
  }

  /** `collect` is called when the series are read. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: readonly Label[] = [],
    collect?: (gauge: Gauge<Label>) => void,
  ): Gauge<Label> {
    return new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      ...(collect && {
        collect(this: Gauge<Label>): void {
          collect(this);
        },
      }),
    });
  }

  histogram<Label extends string>(
    name: string,
    help: string,
    buckets: readonly number[],
    labelNames: readonly Label[] = [],
  ): Histogram<Label> {
    return new Histogram({
      name,
      help,
      buckets: [...buckets],
      labelNames: [...labelNames],
      registers: [this.registry],
    });
  }
}
